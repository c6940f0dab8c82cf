package workflows

import "github.com/onceward/onceward"

// maxAnswer bounds what a query or an update answers, in bytes as encoded.
const maxAnswer = 1 << 20

// ledger returns the newest receipts that take at most room bytes, and how many
// older ones are left out. Each of them is the result of its Action's workflow. A
// run of two thousand actions would end with a result that no history can hold.
func (r *Run) ledger(room int) ([]onceward.ActionReceipt, int) {
	newest := fitting(r.actions, room)
	return append([]onceward.ActionReceipt{}, newest...), len(r.actions) - len(newest)
}

// fitting returns the last elements of a list that take at most room bytes.
func fitting[T interface{ Encoded() int }](list []T, room int) []T {
	from := len(list)
	for from > 0 {
		if room -= list[from-1].Encoded(); room < 0 {
			break
		}
		from--
	}
	return list[from:]
}
