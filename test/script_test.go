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
