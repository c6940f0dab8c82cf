// The AI SDK: streamText with tools, as many steps as the refund needs.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

globalThis.AI_SDK_LOG_WARNINGS = false;
const openai = createOpenAI({ baseURL: process.env.BASE_URL.replace(/\/$/, ""), apiKey: "sk-judge" });
const called = [];
const request = {
  model: openai.responses("gpt-5.6"),
  prompt: "Please refund order-1842.",
  maxRetries: 0,
  stopWhen: stepCountIs(6),
  providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
  tools: {
    get_order: tool({
      description: "Read an order.", inputSchema: z.object({ order_id: z.string() }),
      execute: async (args) => { called.push({ name: "get_order", ...args }); return { amount_cents: 4250 }; },
    }),
    create_refund: tool({
      description: "Refund an order.", inputSchema: z.object({ order_id: z.string(), amount_cents: z.number().int(), reason: z.string() }),
      execute: async (args) => { called.push({ name: "create_refund", ...args }); return { status: "committed", ref: "rf_1" }; },
    }),
  },
};

const stream = streamText(request);
const parts = {};
for await (const part of stream.fullStream) {
  if (part.type === "error") throw part.error;
  parts[part.type] = (parts[part.type] ?? 0) + 1;
}
const usage = await stream.totalUsage;
const whole = await generateText(request);
console.log(JSON.stringify({
  streamed: await stream.text, steps: (await stream.steps).length, reason: await stream.finishReason, parts,
  usage: usage.totalTokens > 0, whole: whole.text, called,
}));
