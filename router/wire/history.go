package wire

import (
	"strings"

	"github.com/onceward/onceward"
)

// isCall reports whether an item is a call that our side must answer.
func isCall(typ string) bool { return typ == "function_call" || typ == "custom_tool_call" }

func isOutput(typ string) bool {
	return typ == "function_call_output" || typ == "custom_tool_call_output"
}

// Lint looks over a transcript before it is sent and leaves out what every host
// refuses: calls without an output, outputs without a call, and reasoning that
// only an orphan call followed. It says so, for the trail. What a stored response
// or a conversation holds is not seen from here, so a transcript that goes on from
// one is left as it is. So are calls other than functions and custom tools:
// whether a host misses their outputs only the host knows.
func Lint(req onceward.ModelRequest) (items []onceward.Item, notices []string) {
	if req.PreviousResponseID != "" || req.Conversation != "" {
		return req.Items, nil
	}
	drop := Orphans(req.Items)
	if drop == nil {
		return req.Items, nil
	}
	for i, item := range req.Items {
		if !drop[i] {
			items = append(items, item)
			continue
		}
		if len(notices) < maxNotices {
			notices = append(notices, strings.TrimSpace("lint: left out "+item.Type+" "+item.CallID)+", which had lost its other half")
		}
	}
	return items, notices
}

// maxNotices bounds what the trail says of one transcript.
const maxNotices = 8

// Orphans marks calls without an output after them and outputs without a call
// before them, and the reasoning that only an orphan call followed: it must not
// stand alone. A call id that comes again is another call. Other items are left as
// they are. Nil means that there is no orphan.
func Orphans(items []onceward.Item) map[int]bool {
	drop := halves(items)
	if len(drop) == 0 {
		return nil
	}
	followed := false // by an item of the model that stays
	for i := len(items) - 1; i >= 0; i-- {
		switch item := items[i]; {
		case isOutput(item.Type):
			followed = false
		case drop[i]:
		case item.Type == "reasoning":
			if !followed && drop[i+1] {
				drop[i] = true
			}
			followed = false // what stands before it has another item to be followed by
		case item.Type == "message" && text(member(item.Raw, "role")) != "assistant":
			followed = false
		default:
			followed = true
		}
	}
	return drop
}

// halves finds the calls and the outputs that lack their other half, which is of
// the same kind and has the same call id.
func halves(items []onceward.Item) map[int]bool {
	type half struct{ kind, callID string }
	var open map[half][]int // calls that wait for their output
	drop := map[int]bool{}
	for i, item := range items {
		switch {
		case isCall(item.Type):
			if open == nil {
				open = make(map[half][]int, 4)
			}
			key := half{item.Type, item.CallID}
			open[key] = append(open[key], i)
		case isOutput(item.Type):
			key := half{strings.TrimSuffix(item.Type, "_output"), item.CallID}
			switch waiting := open[key]; len(waiting) {
			case 0:
				drop[i] = true
			case 1:
				delete(open, key)
			default: // of two calls with one id the nearer one is meant
				open[key] = waiting[:len(waiting)-1]
			}
		}
	}
	for _, waiting := range open {
		for _, i := range waiting {
			drop[i] = true
		}
	}
	return drop
}
