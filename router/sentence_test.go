package router

import (
	"fmt"
	"testing"

	"github.com/onceward/onceward"
)

// A host may deliver its error as if the model had said it. The whole text decides,
// and an answer that quotes it is the model's own.
func TestErrorThatIsTheWholeAnswerIsAFailure(t *testing.T) {
	const sentence = "Claude AI usage limit reached|1764000000"
	chatBody := `{"id":"c1","model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":10}}`
	chatPiece := `{"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":null}]}`
	body := `{"id":"resp_1","object":"response","status":"completed","model":"gpt-x","output":[%s],"usage":{"input_tokens":100,"output_tokens":10}}`
	for _, text := range []string{sentence, "The host answered: " + sentence} {
		for name, call := range map[string]func() (*Router, onceward.ModelRequest){
			"responses streamed": func() (*Router, onceward.ModelRequest) {
				r := pool(t, Config{}, resource("a", serve(t, stream(completed(outputText("msg_1", text)))).URL))
				return r, routed(t, r, "a")
			},
			"responses in one piece": func() (*Router, onceward.ModelRequest) {
				r := pool(t, Config{}, resource("a", serve(t, reply(200, "application/json", fmt.Sprintf(body, outputText("msg_1", text)))).URL))
				return r, routed(t, r, "a")
			},
			"chat streamed": func() (*Router, onceward.ModelRequest) {
				r := pool(t, Config{}, chatResource("a", serve(t, stream(fmt.Sprintf(chatPiece, text), chStop, chUsage, "[DONE]")).URL))
				return r, routed(t, r, "a")
			},
			"chat in one piece": func() (*Router, onceward.ModelRequest) {
				r := pool(t, Config{}, chatResource("a", serve(t, reply(200, "application/json", fmt.Sprintf(chatBody, text))).URL))
				return r, routed(t, r, "a")
			},
		} {
			t.Run(name+": "+text, func(t *testing.T) {
				r, req := call()
				response, err := r.Call(t.Context(), req)
				if text != sentence {
					if err != nil || response.Text != text {
						t.Fatalf("%q, %v: a quoted error is an answer", response.Text, err)
					}
					return
				}
				f := failed(t, err)
				if f.Class != onceward.ClassQuotaExhausted || f.Phase != onceward.PhaseSettled || !f.FallbackEligible || !response.Usage.Known {
					t.Errorf("%v, usage %v", f, response.Usage)
				}
			})
		}
	}
}
