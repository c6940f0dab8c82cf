package route

import "github.com/onceward/onceward"

// minOutput is the least output limit that a repair goes down to; hosts refuse
// a request below it.
const minOutput = 16

// OutputTokens applies a repair to an output limit: half of it, or twice as
// much up to what the deployment can. Other repairs leave it alone.
func OutputTokens(n int, repair onceward.Repair, c onceward.Capability) int {
	switch limitRepair(repair) {
	case onceward.RepairRaiseOutput:
		return max(n, min(2*n, c.MaxOutputTokens))
	case onceward.RepairLowerOutput:
		return max(n/2, min(n, minOutput))
	}
	return n
}

// limitRepair returns the repair if it changes the output limit.
func limitRepair(r onceward.Repair) onceward.Repair {
	if r == onceward.RepairRaiseOutput || r == onceward.RepairLowerOutput {
		return r
	}
	return onceward.RepairNone
}
