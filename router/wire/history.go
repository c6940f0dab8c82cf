package wire

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/onceward/onceward"
)

// maxCallID is the longest call id that every host takes.
const maxCallID = 64

// callID shortens a call id that the wire does not take. The same id always
// gives the same result, so that call and output stay joined.
func callID(id string) string {
	if len(id) <= maxCallID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:20])
}

// isCall reports whether an item is a call that our side must answer.
func isCall(typ string) bool { return typ == "function_call" || typ == "custom_tool_call" }

func isOutput(typ string) bool {
	return typ == "function_call_output" || typ == "custom_tool_call_output"
}

// orphans marks calls without an output and outputs without a call, and the
// reasoning item right before an orphan call: it must not stand alone. Other
// items are left as they are.
func orphans(items []onceward.Item) map[int]bool {
	calls, outputs := map[string]bool{}, map[string]bool{}
	for _, item := range items {
		if isCall(item.Type) {
			calls[item.CallID] = true
		} else if isOutput(item.Type) {
			outputs[item.CallID] = true
		}
	}
	drop := map[int]bool{}
	for i, item := range items {
		if isCall(item.Type) && !outputs[item.CallID] {
			drop[i] = true
			if i > 0 && items[i-1].Type == "reasoning" {
				drop[i-1] = true
			}
		}
		if isOutput(item.Type) && !calls[item.CallID] {
			drop[i] = true
		}
	}
	return drop
}
