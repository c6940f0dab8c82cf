package classify

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// The host names the type of the call that lacks its output. A type that nobody
// has seen yet is the same fault; a call that the host itself carries out is not.
func TestMissingOutputIsKnownForCallsOfAnyType(t *testing.T) {
	for kind, missing := range map[string]bool{
		"function call": true, "custom tool call": true, "local shell call": true, "apply patch call": true, "tool search call": true,
		"computer call": true, "zeppelin steering call": true,
		"web search call": false, "file search call": false, "code interpreter call": false, "image generation call": false, "mcp call": false,
	} {
		for _, end := range []string{"", "."} {
			body := fmt.Sprintf(`{"error":{"message":"No tool output found for %s call_9%s","type":"invalid_request_error","param":"input","code":null}}`, kind, end)
			f := Classify(Input{Transport: HTTP, Status: http.StatusBadRequest, Body: []byte(body), Now: time.Now()})
			if got := f.Class == onceward.ClassMissingToolOutput; got != missing || f.StateEffect != onceward.EffectNone {
				t.Errorf("%s%s: class %s, effect %s; want missing_tool_output %v and no effect", kind, end, f.Class, f.StateEffect, missing)
			}
		}
	}
}
