package classify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/onceward/onceward"
)

func errorBody(t *testing.T, code, message string) []byte {
	t.Helper()
	fields := map[string]any{"message": message, "type": "invalid_request_error"}
	if code != "" {
		fields["code"] = code
	}
	b, err := json.Marshal(map[string]any{"error": fields})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A status that names somebody else's fault, or a code in the place of one, is believed over
// words that it quotes; words of its own, or of the host behind a gateway, still count.
func TestQuotedWordsDoNotEndARun(t *testing.T) {
	for _, status := range []int{401, 402, 429, 500, 502, 503, 529} {
		bare := Classify(Input{Status: status, Body: []byte(`{"error":{"message":"it failed"}}`)})
		for _, words := range []string{"violates our usage policies", "No tool output found for function call call_1", "The response was filtered due to the prompt triggering content management policy",
			"This model's maximum context length is 8192 tokens", "Request entity too large", "Previous response not found", "image input is not supported"} {
			for _, form := range []string{
				"Internal error while processing: '%s'", `upstream error for prompt: \"%s\"`, "failed to handle “%s” in time", "cannot serve `%s`", "cannot serve «%s»",
				"failed: ```%s``` is odd", "failed: ''%s'' is odd", "failed: &quot;%s&quot; is odd", "failed: &#39;%s&#39;", "failed: %%22%s%%22", `failed: \\\"%s\\\"`,
				`failed: 'he said \" and %s \" too'`, "while processing '%s", "prompt: %s", "input=%s", "the user said: %s",
				`while processing: {\"code\":\"%s\"}`, `failed for {\"input\":\"%s\"}`,
			} {
				body := fmt.Sprintf(`{"error":{"message":"`+form+`"}}`, words)
				if f := Classify(Input{Status: status, Body: []byte(body)}); f.Class != bare.Class || !f.FallbackEligible {
					t.Errorf("%d %s: %s fallback %v, want %s", status, body, f.Class, f.FallbackEligible, bare.Class)
				}
			}
			for _, body := range []string{fmt.Sprintf(`{"error":{"message":%q}}`, words), fmt.Sprintf(`{"error":{"message":"Error code: 400 - {'error': {'message': '%s'}}"}}`, words)} {
				if f := Classify(Input{Status: status, Body: []byte(body)}); status >= 500 && status < 503 && f.Class == bare.Class {
					t.Errorf("%d %s: %s, want what it says", status, body, f.Class)
				}
			}
		}
	}
}

func TestCodeOfTheServersIsBelievedOverQuotedWords(t *testing.T) {
	for code, want := range map[string]onceward.Class{
		"server_error": onceward.ClassServerError, "rate_limit_exceeded": onceward.ClassRateLimited, "server_is_overloaded": onceward.ClassOverloaded,
	} {
		for _, words := range []string{"violates our usage policies", "maximum context length is 8192 tokens", "Previous response not found", "Invalid value: 'x'"} {
			event := fmt.Appendf(nil, `{"type":"response.failed","response":{"status":"failed","error":{"code":%q,"message":"Error while handling \"%s\""}}}`, code, words)
			if f, ok := Terminal(event); !ok || f.Class != want {
				t.Errorf("%s quoting %s: %v", code, words, f)
			}
		}
	}
}

func TestQuotedWordsOfTheCallerAreNoVerdictOnTheResource(t *testing.T) {
	for _, c := range []struct{ code, message string }{
		{"invalid_value", "Invalid value: 'overdue'. Supported values are: 'open', 'closed'."},
		{"invalid_type", "Invalid type for 'input[0].content': expected a string, but got 'Incorrect API key provided' instead."},
		{"invalid_function_parameters", "Invalid schema for function 'check': In context=('properties', 'account balance'), 'required' is required to be supplied and to be an array including every key in properties."},
		{"invalid_function_parameters", "Invalid schema for function 'check': In context=('properties','account balance'), 'required' is required."},
		{"invalid_json_schema", "Invalid schema for response_format 'invoice': 'overdue' is not of type 'object'"},
		{"unknown_parameter", "Unknown parameter: 'tools[0].spending limit'."},
		{"invalid_value", "Invalid 'tools[0].name': 'Payment Required'. Expected a string that matches the pattern '^[a-z]+$'."},
		{"invalid_function_parameters", "Invalid schema for function 'model_not_found': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."},
		{"invalid_type", "Invalid type for 'metadata.note': expected a string, but got 'insufficient_quota' instead."},
		{"invalid_type", `Invalid type for 'metadata.note': expected a string, but got '{"error":{"code":"insufficient_quota"}}' instead.`},
		{"invalid_image_url", "Failed to download image from https://cdn/invalid_api_key.png: 403"},
		{"", "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$' (got 'rate limit exceeded')"},
		{"", "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), \"The model is overloaded\""},
		{"", "1 validation error for ChatCompletionRequest\nmessages.0.content\n  Input should be a valid string [type=string_type, input_value={'q': 'Authentication failed: invalid api key'}, input_type=dict]"},
		{"", "Unable to download the file. Please verify the URL and try again. 404 model not found"},
		{"invalid_value", "Invalid value: 'she wrote \"it's fine\" but the account is overdue'."},
		{"invalid_value", "Invalid value: 'the users' account balance is overdue'. Supported values are: 'open' and 'closed'."},
	} {
		want := onceward.ClassInvalidRequest
		if c.code == "unknown_parameter" {
			want = onceward.ClassUnsupportedCapability // another host may know it
		}
		for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
			f := Classify(Input{Status: status, Body: errorBody(t, c.code, c.message)})
			if f.Class != want || f.StateEffect != onceward.EffectNone {
				t.Errorf("%d %s: %s %s, want %s none", status, c.message, f.Class, f.StateEffect, want)
			}
		}
		if c.code == "" {
			continue
		}
		event := fmt.Appendf(nil, `{"type":"response.failed","response":{"status":"failed","error":{"code":%q,"message":%q}}}`, c.code, c.message)
		if f, ok := Terminal(event); !ok || f.Class != want || f.StateEffect != onceward.EffectNone {
			t.Errorf("response.failed %s: %v, want %s none", c.message, f, want)
		}
	}
}

func TestUnquotedVerdictStandsBesideAShapeCode(t *testing.T) {
	for message, want := range map[string]onceward.StateEffect{
		"Invalid value: 'x'. Your credit balance is too low to access the API.":                         onceward.EffectDisable,
		"Unsupported value: 'stream'. Incorrect API key provided: 'sk-x'. You can find it in settings.": onceward.EffectDisable,
	} {
		if f := Classify(Input{Status: http.StatusBadRequest, Body: errorBody(t, "invalid_value", message)}); f.StateEffect != want {
			t.Errorf("%s: %s %s, want %s", message, f.Class, f.StateEffect, want)
		}
	}
}
