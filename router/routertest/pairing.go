package routertest

import "strings"

// callOutputs maps each call that the client must answer to the item that
// answers it. Hosted calls carry their output inside and are not here.
var callOutputs = map[string]string{
	"function_call":    "function_call_output",
	"custom_tool_call": "custom_tool_call_output",
	"apply_patch_call": "apply_patch_call_output",
	"shell_call":       "shell_call_output",
	"local_shell_call": "local_shell_call_output",
	"computer_call":    "computer_call_output",
	"tool_search_call": "tool_search_output",
}

func words(itemType string) string { return strings.ReplaceAll(itemType, "_", " ") }

// checkPairs checks that every call has its output after it, every output its
// call before it, and nothing comes twice.
func checkPairs(items []Item) *apiError {
	open := map[string]string{}     // call_id of a call without output -> call type
	answered := map[string]string{} // call_id of a call with output -> call type
	ids := map[string]bool{}
	var order []string
	for _, it := range items {
		if it.ID != "" {
			if ids[it.ID] {
				return badRequest("input", "", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", it.ID)
			}
			ids[it.ID] = true
		}
		_, isCall := callOutputs[it.Type]
		switch {
		case isCall && it.CallID != "":
			if open[it.CallID] != "" || answered[it.CallID] != "" {
				return badRequest("input", "", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", it.CallID)
			}
			open[it.CallID] = it.Type
			order = append(order, it.CallID)
		case isOutput(it.Type) && it.CallID != "":
			if answered[it.CallID] != "" {
				return badRequest("input", "", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", it.CallID)
			}
			call := open[it.CallID]
			if call == "" || callOutputs[call] != it.Type {
				return badRequest("input", "", "No tool call found for %s with call_id %s.", words(it.Type), it.CallID)
			}
			delete(open, it.CallID)
			answered[it.CallID] = call
		}
	}
	for _, id := range order {
		if call := open[id]; call != "" {
			return badRequest("input", "", "No tool output found for %s %s.", words(call), id)
		}
	}
	return nil
}

// checkReasoning checks that a reasoning item with an id is followed by an
// item of its response, and that an item with an id comes with the reasoning
// item that the response put before it.
func (s *Server) checkReasoning(items []Item) *apiError {
	present := map[string]bool{}
	for i, it := range items {
		if it.Type == "reasoning" {
			present[it.ID] = true
			if it.ID != "" && !followed(items[i+1:]) {
				return badRequest("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
			}
			continue
		}
		if rs := s.pool.links.required(it.ID); rs != "" && !present[rs] {
			return badRequest("input", "", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", it.ID, it.Type, rs)
		}
	}
	return nil
}

func followed(rest []Item) bool {
	for _, it := range rest {
		if it.Type == "reasoning" {
			continue
		}
		return !isOutput(it.Type) && (it.Type != "message" || it.Role == "assistant")
	}
	return false
}
