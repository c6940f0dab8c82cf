package classify

import (
	"testing"

	"github.com/onceward/onceward"
)

func TestTerminalObjects(t *testing.T) {
	for event, want := range map[string]onceward.Class{
		`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"rate_limit_exceeded","message":"try again in 2s"}}}`:                onceward.ClassRateLimited,
		`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":null}}`:                                                                      onceward.ClassServerError,
		`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}}`:                            onceward.ClassContentFiltered,
		`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}`:                         onceward.ClassIncompleteOutput,
		`{"id":"resp_1","object":"response","status":"cancelled","output":[]}`:                                                                                      onceward.ClassCancelled,
		`{"id":"resp_1","object":"response","status":"canceled","output":[]}`:                                                                                       onceward.ClassCancelled,
		`{"type":"response.canceled","response":{"status":"canceled","output":[]}}`:                                                                                 onceward.ClassCancelled,
		`{"type":"error","code":"server_is_overloaded","message":"busy"}`:                                                                                           onceward.ClassOverloaded,
		`{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota"}}`:                            onceward.ClassQuotaExhausted,
		`{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"The server had an error"},"output":[]}`:                     onceward.ClassServerError,
		`{"type":"response.completed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}}`:                                             onceward.ClassPolicyBlocked,
		`{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","id":"rs_1"}]}`:                     onceward.ClassIncompleteOutput,
		`{"type":"response.completed","response":{"status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}}`: "",
		`{"type":"response.created","response":{"status":"in_progress","error":null}}`:                                                                              "",
		`{"type":"response.output_text.delta","delta":"the error is: rate limit","error":null}`:                                                                     "",
		`{"id":"resp_1","status":"completed","error":null,"output":[]}`:                                                                                             "",
		`{"type":"keepalive"}`: "",
		``:                     "",
	} {
		f, ok := Terminal([]byte(event))
		if ok != (want != "") || ok && f.Class != want {
			t.Errorf("%s: got %v %v, want %q", event, f, ok, want)
		}
	}
}

func TestModelsWordsAreNotReadAsAnError(t *testing.T) {
	for _, body := range []string{
		`{"id":"resp_1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Incorrect API key provided, rate limit reached, insufficient_quota"}]}]}`,
		`{"choices":[{"message":{"role":"assistant","content":"You exceeded your current quota"},"finish_reason":"stop"}]}`,
	} {
		if f := Classify(Input{Status: 200, Body: []byte(body)}); f.Class != onceward.ClassInvalidOutput || f.StateEffect != onceward.EffectNone {
			t.Errorf("got %s %s", f.Class, f.StateEffect)
		}
	}
}
