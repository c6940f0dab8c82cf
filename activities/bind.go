package activities

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// Codes of the answers to calls that cannot be carried out.
const (
	codeUnknownTool      = "unknown_tool"
	codeInvalidArguments = "invalid_arguments"
	codeWithdrawn        = "tool_withdrawn"
	codeTooManyCalls     = "too_many_calls"
)

// bindCalls binds each call of a response once, or writes the answer that tells
// the model what was wrong with it. A write is never guessed from a near name. Those
// beyond the limit, if there is one, are only named: the run answers them, and a
// thousand answers here would not fit the result.
func bindCalls(agent *Agent, caller onceward.Caller, wire []onceward.WireCall, withdrawn []string, limit int) []onceward.Call {
	calls := make([]onceward.Call, 0, len(wire))
	for i, w := range wire {
		if limit > 0 && i >= limit {
			call := onceward.Call{Index: w.Index, CallID: w.CallID}
			if w.Custom { // its answer is of a type of its own, which the run cannot know
				item := onceward.CustomCallError(w.CallID, codeTooManyCalls, fmt.Sprintf("only the first %d calls of a response are carried out", limit))
				call.Output = &item
			}
			calls = append(calls, call)
			continue
		}
		calls = append(calls, bindCall(agent, caller, w, withdrawn))
	}
	return calls
}

func bindCall(agent *Agent, caller onceward.Caller, w onceward.WireCall, withdrawn []string) onceward.Call {
	call := onceward.Call{Index: w.Index, CallID: w.CallID, Tool: w.Name}
	refuse := func(code, format string, args ...any) onceward.Call {
		item := onceward.CallError(w.CallID, code, fmt.Sprintf(format, args...))
		call.Output = &item
		return call
	}
	if w.Custom {
		call.Tool = "unknown"
		item := onceward.CustomCallError(w.CallID, codeUnknownTool, fmt.Sprintf("there is no custom tool %q; the tools are functions: %s", w.Name, strings.Join(names(agent), ", ")))
		call.Output = &item
		return call
	}
	tool, ok := agent.Tools[w.Name]
	if !ok {
		bare, prefixed := strings.CutPrefix(w.Name, "functions.")
		if tool, ok = agent.Tools[bare]; !prefixed || !ok {
			call.Tool = "unknown" // a name the model made up must not become a label anywhere
			return refuse(codeUnknownTool, "there is no tool %q; the tools are: %s", w.Name, strings.Join(names(agent), ", "))
		}
		call.Tool, call.Note = bare, "the prefix functions. was stripped from the tool's name"
	}
	call.Kind = tool.Tool.Kind
	if slices.Contains(withdrawn, call.Tool) {
		return refuse(codeWithdrawn, "%s was withdrawn: its effect has been committed and is made once", call.Tool)
	}
	raw := json.RawMessage(w.Arguments)
	if strings.TrimSpace(w.Arguments) == "" {
		raw = json.RawMessage("{}")
	}
	// Duplicate keys first: every later reader would silently choose one of them.
	if err := onceward.CheckKeys(raw); err != nil {
		return refuse(codeInvalidArguments, "%v", err)
	}
	if tool.Validate != nil {
		if err := tool.Validate(raw); err != nil {
			return refuse(codeInvalidArguments, "%v", err)
		}
	}
	prepared, err := tool.Prepare(caller, raw)
	if err != nil {
		return refuse(codeInvalidArguments, "%v", err)
	}
	call.Args, call.ActionID, call.Digest, call.Bare = prepared.Args, prepared.ActionID, prepared.Digest, prepared.Bare
	call.Approval = prepared.Approval
	return call
}

func names(agent *Agent) []string {
	out := make([]string, 0, len(agent.Tools))
	for name := range agent.Tools {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
