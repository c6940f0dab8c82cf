package workflows

import "github.com/onceward/onceward"

// maxAnswer bounds what a query or an update answers, in bytes as encoded.
const maxAnswer = 1 << 20

// ledger returns the newest receipts that take at most room bytes, and how many
// older ones are left out. Each of them is the result of its Action's workflow. A
// run of two thousand actions would end with a result that no history can hold.
func (r *Run) ledger(room int) ([]onceward.ActionReceipt, int) {
	from := len(r.actions)
	for from > 0 {
		if room -= r.actions[from-1].Encoded(); room < 0 {
			break
		}
		from--
	}
	return append([]onceward.ActionReceipt{}, r.actions[from:]...), from
}
