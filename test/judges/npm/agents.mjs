// The official agent library: an agent with two function tools refunds, whole
// and streamed. The library keeps the conversation itself.
import { Agent, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

setTracingDisabled(true);
const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: "sk-judge", maxRetries: 0 });
const called = [];
const agent = new Agent({
  name: "refunds",
  instructions: "Refund at most once.",
  model: new OpenAIResponsesModel(client, "gpt-5.6"),
  modelSettings: { store: false, providerData: { include: ["reasoning.encrypted_content"] } },
  tools: [
    tool({
      name: "get_order", description: "Read an order.", parameters: z.object({ order_id: z.string() }),
      execute: async (args) => { called.push({ name: "get_order", ...args }); return { amount_cents: 4250 }; },
    }),
    tool({
      name: "create_refund", description: "Refund an order.",
      parameters: z.object({ order_id: z.string(), amount_cents: z.number().int(), reason: z.string() }),
      execute: async (args) => { called.push({ name: "create_refund", ...args }); return { status: "committed", ref: "rf_1" }; },
    }),
  ],
});

const whole = await run(agent, "Please refund order-1842.");
const stream = await run(agent, "Please refund order-1842.", { stream: true });
for await (const _ of stream) {
  // the events are the library's own
}
await stream.completed;
console.log(JSON.stringify({ whole: whole.finalOutput, streamed: stream.finalOutput, called }));
