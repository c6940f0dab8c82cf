// Package payments is the product of the refund sample: an HTTP service that pays refunds and writes them to SQLite,
// and a client for it. It exists to be unkind in exact, countable ways, so that a test or a demo can show what
// happens to a side effect when an answer is lost.
//
// # HTTP
//
//	GET  /orders/{id}           200 {order_id, amount_cents, currency, status}; status is paid or refunded
//	POST /refunds               Idempotency-Key: KEY, {action_id, order_id, amount_cents, reason}
//	                            201 {refund_id, action_id, order_id, amount_cents}
//	GET  /refunds?action_id=ID  200 {refunds: [{refund_id, action_id, order_id, amount_cents}]}
//	GET  /stats                 200 {refunds, by_action: {id: n}}
//	GET  /healthz               200 {status: "ok"}
//	POST /_control/fault        {fault, times, read_fault, read_times}: sets or, with "", lifts a fault
//	GET  /_control/wait         ?event=committed|received&after=N: returns once that many happened
//
// Every id of the shape order-... is an order; its amount follows from its id. A refund is for the whole amount.
// Every refusal is {"reason": "..."}: 400 for what is missing or malformed (action_id, order_id, amount_cents and the
// Idempotency-Key are required; reason is free text and is not), 404 for an unknown order that is read, 413 for a body
// over 1 MB, 422 for an unknown order or a wrong amount in a refund and for a key that was used with another body.
//
// # Paying once or paying always
//
// With Config.Dedupe a repeated Idempotency-Key answers the first refund and pays nothing. Without it every valid
// request is paid, whatever was paid before: the number of refunds is then the number of requests that reached
// the product, which is how a test proves that nothing above it repeats.
//
// # Durability
//
// A refund is in the write-ahead log and fsynced before its 201 leaves, so killing the process afterwards does not
// lose it. One process owns a database file at a time.
package payments
