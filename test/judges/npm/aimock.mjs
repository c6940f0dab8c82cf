// Another maker's scripted resource, as a member of a pool: it plays the same
// refund. It prints its address and serves until its input is closed.
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });
const call = (name, args) => ({ toolCalls: [{ name, arguments: JSON.stringify(args) }] });
mock.on({ toolResultContains: "rf_" }, { content: "The refund has status committed, reference rf_1." });
mock.on({ toolResultContains: "amount_cents" }, call("create_refund", { order_id: "order-1842", amount_cents: 4250, reason: "It never arrived." }));
mock.onMessage(/fail/, { error: { message: "The server is overloaded.", type: "server_error", code: "server_is_overloaded" }, status: 503 });
mock.onMessage(/limit/, { error: { message: "Rate limit reached.", type: "tokens", code: "rate_limit_exceeded" }, status: 429 });
mock.onMessage(/cut/, { content: "This answer is cut off before its end. ".repeat(20) }, { truncateAfterChunks: 3, disconnectAfterMs: 0 });
mock.onMessage(/order-1842/, call("get_order", { order_id: "order-1842" }));
await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on("end", async () => {
  await mock.stop();
  process.exit(0);
});
