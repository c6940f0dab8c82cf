package probe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/probe"
	"github.com/onceward/onceward/router/routertest"
)

// careless is a server that takes whatever it is sent, gives out sealed reasoning
// and reads at most window tokens of a prompt.
func careless(t *testing.T, name string, chat bool, window int) router.Resource {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		read := min(strings.Count(string(body), " ")+8, window)
		w.Header().Set("Content-Type", "application/json")
		if chat {
			_, _ = fmt.Fprintf(w, `{"id":"c1","model":"m","choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, read)
			return
		}
		_, _ = fmt.Fprintf(w, `{"id":"resp_1","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAAABsealed"},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"391"}]}],"usage":{"input_tokens":%d,"output_tokens":5}}`, read)
	}))
	t.Cleanup(s.Close)
	api := router.APIResponses
	if chat {
		api = router.APIChatCompletions
	}
	return router.Resource{Name: name, Kind: router.KindCompatible, API: api, BaseURL: s.URL, Deployments: []router.Deployment{{
		Model: "m", Deployment: "m", Capability: onceward.Capability{EncryptedReasoning: !chat, MaxInputTokens: 272000},
	}}}
}

func found(report probe.Report) map[string]string {
	out := map[string]string{}
	for _, d := range report.Differences {
		out[d.Resource+" "+d.Key] = d.Should
	}
	return out
}

func TestProbeFindsAServerThatCutsItsPrompt(t *testing.T) {
	scripted := routertest.Start(t, routertest.Config{Model: thinking, Resources: []routertest.Resource{{Name: "D", ContextTokens: 1000}, {Name: "E"}}})
	declared := poolConfig(scripted, func(r *router.Resource) { r.Deployments[0].Capability.MaxInputTokens = 272000 })
	pool := router.Config{Resources: append([]router.Resource{
		careless(t, "A", false, 256), careless(t, "B", true, 256), careless(t, "C", false, 1<<30),
	}, declared.Resources...)}
	report, err := probe.Run(context.Background(), probe.Config{Pool: pool, InputTokens: 3000})
	if err != nil {
		t.Fatal(err)
	}
	got := found(report)
	for name, want := range map[string]string{"A": "256", "B": "256", "C": "", "D": "less than 2000", "E": ""} { // E12
		if got[name+" capability.max_input_tokens"] != want {
			t.Errorf("E12 %s should say %q, got %q", name, want, got[name+" capability.max_input_tokens"])
		}
	}
	for _, r := range report.Resources {
		if r.Window.Sent != 2000 {
			t.Errorf("%s: a prompt of %d tokens, want what was allowed", r.Resource, r.Window.Sent)
		}
	}
}

func TestProbeSendsNoLongPromptUnlessItMay(t *testing.T) {
	scripted := routertest.Start(t, routertest.Config{Model: thinking, Resources: []routertest.Resource{{Name: "A"}}})
	pool := poolConfig(scripted, func(r *router.Resource) { r.Deployments[0].Capability.MaxInputTokens = 272000 })
	report, err := probe.Run(context.Background(), probe.Config{Pool: pool, InputTokens: -1})
	if err != nil || report.Resources[0].Window.Holds != probe.Unknown || report.Resources[0].Window.Sent != 0 {
		t.Errorf("window %+v, %v", report.Resources[0].Window, err)
	}
	for _, r := range scripted.Resource("A").Requests() {
		if size, _ := json.Marshal(r.Body); len(size) > 4000 {
			t.Errorf("a request of %d bytes", len(size))
		}
	}
}

func TestProbeTakesNoResourceThatIgnoresReasoningForOneThatReadsIt(t *testing.T) {
	scripted := routertest.Start(t, routertest.Config{Model: thinking, Resources: []routertest.Resource{
		{Name: "A", EncryptionBoundary: "eu"}, {Name: "B", EncryptionBoundary: "eu"},
	}})
	pool := poolConfig(scripted, func(r *router.Resource) { r.Boundary = "eu" })
	ignores := careless(t, "C", false, 1<<30)
	ignores.Boundary = "eu"
	pool.Resources = append(pool.Resources, ignores)
	report, err := probe.Run(context.Background(), probe.Config{Pool: pool, InputTokens: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Resources {
		want := probe.Yes
		if r.Resource == "C" {
			want = probe.No // E12: it answers 200 to a spoiled blob
		}
		if r.ReadsReasoning != want {
			t.Errorf("E12 %s reads reasoning: %s, want %s", r.Resource, r.ReadsReasoning, want)
		}
	}
	for _, p := range report.Pairs {
		switch {
		case p.To == "C" && p.Accepted != probe.Unknown:
			t.Errorf("E12 %s is said to read what %s wrote: %s", p.To, p.From, p.Accepted)
		case p.From != "C" && p.To != "C" && p.Accepted != probe.Yes:
			t.Errorf("%s reads what %s wrote: %s, %s", p.To, p.From, p.Accepted, p.Why)
		}
	}
	if got := found(report); got["C encryption_boundary"] != "C" || got["A encryption_boundary"]+got["B encryption_boundary"] != "" {
		t.Errorf("differences %+v", report.Differences)
	}
}
