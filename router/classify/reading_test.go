package classify

import (
	"errors"
	"net/http"
	"testing"

	"github.com/onceward/onceward"
)

func TestBrokenReadIsTheNetworksWhateverItsWords(t *testing.T) {
	for _, text := range []string{
		"malformed chunked encoding", "invalid byte in chunk length", "chunked line ends with bare LF", "http: unexpected EOF reading trailer",
		"http chunk length too large", "unexpected token in the frame", "field required",
	} {
		for _, in := range []Input{
			{Transport: SSE, Status: http.StatusOK, Err: errors.New(text)},
			{Transport: HTTP, Status: http.StatusOK, Err: errors.New(text)},
			{Transport: Connection, Err: errors.New(text)},
		} {
			f := Classify(in)
			if f.Class != onceward.ClassNetwork || f.StateEffect != onceward.EffectBreaker || !f.FallbackEligible {
				t.Errorf("%s %d %q: %s %s fallback=%v", in.Transport, in.Status, text, f.Class, f.StateEffect, f.FallbackEligible)
			}
		}
	}
	for _, text := range []string{"malformed chunked encoding", "invalid byte in chunk length", "chunked line ends with bare LF", "http: unexpected EOF reading trailer"} {
		if f := Classify(Input{Transport: SSE, Body: []byte(text)}); f.Class != onceward.ClassNetwork || f.StateEffect != onceward.EffectBreaker {
			t.Errorf("body %q: %s %s", text, f.Class, f.StateEffect)
		}
	}
}

func TestOwnSocketsRunningOutIsNoResourcesHealth(t *testing.T) {
	for _, text := range []string{
		"dial tcp 10.0.0.1:443: socket: too many open files", "dial tcp 10.0.0.1:443: connect: cannot assign requested address",
		"Error: connect EADDRNOTAVAIL 10.0.0.1:443", "connect EMFILE 10.0.0.1:443",
	} {
		f := Classify(Input{Transport: Connection, Err: errors.New(text)})
		if f.Class != onceward.ClassNetwork || f.StateEffect != onceward.EffectNone || f.Scope != onceward.ScopeEgress {
			t.Errorf("%q: %s %s %s", text, f.Class, f.StateEffect, f.Scope)
		}
	}
}

func TestAnswersAboutOtherPartiesAndVersions(t *testing.T) {
	for body, want := range map[string]struct {
		status int
		class  onceward.Class
		effect onceward.StateEffect
	}{
		`{"error":{"message":"Error retrieving tool list from MCP server: 'docs'. Http status code: 401 (Unauthorized)","type":"external_connector_error","code":"http_error"}}`:                       {424, onceward.ClassInvalidRequest, onceward.EffectNone},
		`{"error":{"message":"Error retrieving tool list from MCP server: 'docs'. 429 Too Many Requests","type":"external_connector_error"}}`:                                                          {424, onceward.ClassInvalidRequest, onceward.EffectNone},
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"http_error","message":"Error retrieving tool list from MCP server: 'docs'. Http status code: 401 (Unauthorized)"}}}`: {200, onceward.ClassInvalidRequest, onceward.EffectNone},
		`{"id":"resp_1","object":"response","status":"completed","output":[],"content_filters":[{"blocked":true,"source_type":"completion"}]}`:                                                         {200, onceward.ClassContentFiltered, onceward.EffectNone},
		`{"id":"resp_1","object":"response","status":"completed","output":[],"content_filters":[{"blocked":false,"content_filter_results":{"hate":{"filtered":true}}}]}`:                               {200, onceward.ClassContentFiltered, onceward.EffectNone},
		`{"id":"resp_1","object":"response","status":"incomplete","output":[],"incomplete_details":{"reason":"content_filter"}}`:                                                                       {200, onceward.ClassContentFiltered, onceward.EffectNone},
		`{"id":"resp_1","object":"response","status":"completed","output":[],"content_filters":[{"blocked":false}]}`:                                                                                   {200, onceward.ClassEmptyOutput, onceward.ClassEmptyOutput.Rule().StateEffect},
		`{"error":{"message":"API version 2023-01-01 is not supported"}}`:                                                                                                                              {404, onceward.ClassEndpointMisconfigured, onceward.EffectDisable},
		`{"error":{"message":"models/x is not found for API version v1beta, or is not supported for generateContent."}}`:                                                                               {404, onceward.ClassModelUnavailable, onceward.ClassModelUnavailable.Rule().StateEffect},
		`{"error":{"message":"Please lower your concurrency and try again later."}}`:                                                                                                                   {429, onceward.ClassRateLimited, onceward.EffectThrottle},
	} {
		if f := Classify(Input{Status: want.status, Body: []byte(body)}); f.Class != want.class || f.StateEffect != want.effect {
			t.Errorf("%d %s: %s %s, want %s %s", want.status, body, f.Class, f.StateEffect, want.class, want.effect)
		}
	}
}

// Vendors number their own outcomes inside a 200: zero is a success, and a
// number that was read as an error would throw a good answer away.
func TestVendorsNumberForSuccessIsNoError(t *testing.T) {
	for body, fails := range map[string]bool{
		`{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"base_resp":{"status_code":0,"status_msg":"success"}}`: false,
		`{"result":"hi","error_code":0}`:                                             false,
		`{"base_resp":{"status_code":1002,"status_msg":"rate limit exceeded(RPM)"}}`: true,
		`{"error_code":336000,"error_msg":"Internal error"}`:                         true,
	} {
		if _, failed := Terminal([]byte(body)); failed != fails {
			t.Errorf("%s: failed %v, want %v", body, failed, fails)
		}
	}
}

// The kinds of a code stand behind a dot; the kind that nobody has seen yet is
// still of its family.
func TestCodeBeforeItsDotDecides(t *testing.T) {
	for code, want := range map[string]onceward.Class{
		"RateLimitExceeded.SomethingPerFortnight": onceward.ClassRateLimited,
		"SensitiveContentDetected.Novelty":        onceward.ClassContentFiltered,
		"InvalidEndpointOrModel.NeverSeen":        onceward.ClassModelUnavailable,
	} {
		if f := Classify(Input{Status: 400, Body: []byte(`{"error":{"code":"` + code + `","message":"Request id: 1"}}`)}); f.Class != want {
			t.Errorf("%s: %s, want %s", code, f.Class, want)
		}
	}
}

// Words that are near those of an account in trouble, and are about the request.
func TestNearMissesLeaveTheResourceAlone(t *testing.T) {
	for _, message := range []string{
		"Request blocked: the text contains a credit card number.",
		"This feature is only available for apps with streaming enabled.",
		"The page token is invalid.",
		"The rollout to all accounts is complete; this field is no longer needed.",
		"Please do not send more than one developer message.",
	} {
		f := Classify(Input{Status: 400, Body: errorBody(t, "", message)})
		if f.StateEffect != onceward.EffectNone {
			t.Errorf("%s: %s %s", message, f.Class, f.StateEffect)
		}
	}
}
