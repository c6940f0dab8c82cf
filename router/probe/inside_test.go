package probe_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/probe"
)

// TestProbeReadsWhatASuccessSays has a gateway that answers 200 to everything, also
// where it refuses, and counts in a way of its own.
func TestProbeReadsWhatASuccessSays(t *testing.T) {
	const failed = `{"id":"resp_2","status":"failed","output":[],"error":{"code":"invalid_encrypted_content","message":"The encrypted content could not be verified."}}`
	const plain = `{"input_tokens":6000,"output_tokens":1}`
	for name, row := range map[string]struct {
		usage, spoiled, kept string
		reads, stored, holds probe.Answer
	}{
		"E12 a refusal inside a success is a refusal":  {plain, failed, failed, probe.Yes, probe.Unknown, probe.Yes},
		"E12 one without a response":                   {plain, strings.Replace(failed, `"id":"resp_2",`, "", 1), `{"error":{"message":"no such response"}}`, probe.Yes, probe.Unknown, probe.Yes},
		"E12 an outage inside a success tells nothing": {plain, `{"id":"r","status":"failed","error":{"code":"server_error","message":"internal error"}}`, `{"id":"resp_1"}`, probe.Unknown, probe.No, probe.Yes},
		"E12 a page for every path is no response":     {plain, failed, "<html>app</html>", probe.Yes, probe.Unknown, probe.Yes},
		"E12 cached input is input":                    {`{"input_tokens":4,"cache_read_input_tokens":5990,"output_tokens":1}`, failed, failed, probe.Yes, probe.Unknown, probe.Yes},
		"E12 counts as texts":                          {`{"input_tokens":"6000","output_tokens":1.0}`, failed, failed, probe.Yes, probe.Unknown, probe.Yes},
		"E12 a prompt that was cut":                    {`{"input_tokens":256,"output_tokens":1}`, failed, failed, probe.Yes, probe.Unknown, probe.No},
		"E12 no counts":                                {"null", failed, failed, probe.Yes, probe.Unknown, probe.Unknown},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			answer := `{"id":"resp_1","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"qwertzuiopqwertzuiop"}],"usage":` + row.usage + `}`
			switch {
			case r.Method == http.MethodGet:
				answer = row.kept
			case strings.Contains(string(body), "AAAA"):
				answer = row.spoiled
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(s.Close)
		report, err := probe.Run(context.Background(), probe.Config{Pool: router.Config{Resources: []router.Resource{{
			Name: "A", Kind: router.KindCompatible, BaseURL: s.URL,
			Deployments: []router.Deployment{{Model: "m", Deployment: "m", Capability: onceward.Capability{MaxInputTokens: 8000, EncryptedReasoning: true}}},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		if r := report.Resources[0]; r.ReadsReasoning != row.reads || r.StoreHonoured != row.stored || r.Window.Holds != row.holds {
			found, _ := json.Marshal(r)
			t.Errorf("%s: %s", name, found)
		}
	}
}
