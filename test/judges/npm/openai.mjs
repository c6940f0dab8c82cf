// The official client: a whole answer, a stream and a refund of three turns.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: "sk-judge", maxRetries: 0 });
const model = "gpt-5.6";
const tools = [
  { type: "function", name: "get_order", strict: true, parameters: object({ order_id: "string" }) },
  { type: "function", name: "create_refund", strict: true, parameters: object({ order_id: "string", amount_cents: "integer", reason: "string" }) },
];

function object(fields) {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, { type }]));
  return { type: "object", properties, required: Object.keys(fields), additionalProperties: false };
}

function answerOf(call) {
  return call.name === "get_order" ? { order_id: "order-1842", amount_cents: 4250 } : { status: "committed", ref: "rf_1" };
}

// converse runs the refund; ask makes one response out of a request.
async function converse(ask) {
  const input = [{ role: "user", content: "Please refund order-1842." }];
  for (let turn = 0; turn < 6; turn++) {
    const response = await ask({ model, input, tools, store: false, include: ["reasoning.encrypted_content"] });
    // The stream helper adds a member of its own to calls, which the API refuses.
    input.push(...response.output.map(({ parsed_arguments, ...item }) => item));
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) {
      return { text: response.output_text, turns: turn + 1, status: response.status, usage: response.usage.total_tokens > 0 };
    }
    for (const call of calls) {
      JSON.parse(call.arguments);
      input.push({ type: "function_call_output", call_id: call.call_id, output: JSON.stringify(answerOf(call)) });
    }
  }
  throw new Error("the conversation has no end");
}

const whole = await converse((request) => client.responses.create(request));

const events = {};
const streamed = await converse(async (request) => {
  const stream = client.responses.stream(request);
  for await (const event of stream) {
    events[event.type] = (events[event.type] ?? 0) + 1;
  }
  return stream.finalResponse();
});

const stored = await client.responses.create({ model, input: "Please refund order-7.", tools });
const followed = await client.responses.create({
  model, tools, previous_response_id: stored.id,
  input: stored.output.filter((item) => item.type === "function_call")
    .map((call) => ({ type: "function_call_output", call_id: call.call_id, output: '{"error":"no such order"}' })),
});
const fetched = await client.responses.retrieve(stored.id);

// A conversation that the client makes, fills, talks in and reads back.
const conversation = await client.conversations.create({ items: [{ role: "user", content: "Please refund order-7." }] });
await client.conversations.items.create(conversation.id, { items: [{ role: "user", content: "It never arrived." }] });
const talked = await client.responses.create({ model, tools, conversation: conversation.id, input: "Do it now." });
const held = [];
for await (const item of client.conversations.items.list(conversation.id, { order: "asc", limit: 2 })) {
  held.push(item.type);
}
const given = [];
for await (const item of client.responses.inputItems.list(talked.id, { order: "asc" })) {
  given.push(item.content?.[0]?.text);
}

let refused;
try {
  await client.responses.create({ model, input: [{ type: "function_call_output", call_id: "call_nobody", output: "" }] });
} catch (error) {
  refused = { status: error.status, message: error.message, known: error instanceof OpenAI.BadRequestError, request: error.requestID };
}

console.log(JSON.stringify({ whole, streamed, events, followed: followed.output_text, fetched: fetched.id === stored.id, held, given, refused }));
