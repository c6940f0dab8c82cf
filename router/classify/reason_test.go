package classify

import "testing"

func TestReasonsAreComparedWhateverTheirLetters(t *testing.T) {
	for from, want := range map[string]string{
		"": "", " ": "", "stop": "stop", "STOP": "stop", "Stop ": "stop", "MAX_TOKENS": "max_tokens", "maxTokens": "max_tokens", "tool-calls": "tool_calls",
		"FinishReason.STOP": "stop", "end turn": "end_turn", "eos_token": "eos_token", "stopé": "stopé",
	} {
		if got := Reason(from); got != want {
			t.Errorf("%q is %q, want %q", from, got, want)
		}
	}
}
