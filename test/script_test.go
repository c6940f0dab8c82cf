package test

import "github.com/onceward/onceward/router/routertest"

// proposes is a model that refunds an order at once with an amount of its own,
// and then repeats what it was told.
func proposes(order string, cents int) routertest.Model {
	return routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Turn: routertest.At(0)}, Reply: []routertest.Out{
			routertest.CallTool("create_refund", map[string]any{"order_id": order, "amount_cents": cents, "reason": "Because."})}},
		{Reply: []routertest.Out{routertest.Say("${output.create_refund}")}},
	}}
}

// calls is a model that makes these calls in one response, and then says that it
// is done.
func calls(list ...routertest.Out) routertest.Model {
	return routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Turn: routertest.At(0)}, Reply: list},
		{Reply: []routertest.Out{routertest.Say("done")}},
	}}
}

// raw is a call whose arguments are a text as the model wrote it.
func raw(tool, arguments string) routertest.Out { return routertest.CallTool(tool, arguments) }
