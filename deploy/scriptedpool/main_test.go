package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

func TestServesUntilStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pool.json")
	cfg := `{"control": "127.0.0.1:0", "model": {"script": "refund"}, "resources": [{"name": "a"}, {"name": "b"}]}`
	if err := os.WriteFile(path, []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, w, "--config", path)
		w.CloseWithError(io.EOF)
		done <- err
	}()
	control := ""
	for lines := bufio.NewScanner(r); control == "" && lines.Scan(); {
		control, _ = strings.CutPrefix(lines.Text(), "control at ")
		if !strings.HasPrefix(control, "http") {
			control = ""
		}
	}
	if control == "" {
		t.Fatalf("it ended without a control address: %v", <-done)
	}
	resp, err := http.Get(control + "/_control/resources")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), `"b"`) {
		t.Errorf("resources: %d %s %v", resp.StatusCode, body, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("a stopped pool is no error: %v", err)
	}
}

func TestExampleAnswersAnAgentAndWhateverElseIsAsked(t *testing.T) {
	t.Parallel()
	file, err := os.Open("example.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cfg, err := routertest.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Control, cfg.Resources[0].Addr = "", "" // its ports may be somebody's
	pool, err := routertest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	call := `{"type":"function_call","call_id":"c","name":"get_order","arguments":"{}"}`
	for name, c := range map[string]struct{ input, want string }{
		"the first turn":  {`"Where is order-17?"`, `order-17`},
		"the second turn": {`[{"role":"user","content":"Where is order-17?"},` + call + `,{"type":"function_call_output","call_id":"c","output":"{\"status\":\"paid\"}"}]`, "The order is paid."},
		"anything else":   {`"Hello"`, `"ok"`},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"model":"gpt-5.6","store":false,"input":` + c.input + `,"tools":[{"type":"function","name":"get_order","parameters":{"type":"object"}}]}`
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, pool.Resources()[0].URL()+"responses", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer scripted-key")
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 200 || !strings.Contains(string(answer), c.want) {
				t.Errorf("%d %s %v, want %q", resp.StatusCode, answer, err, c.want)
			}
		})
	}
}

func TestRefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct{ name, cfg, want string }{
		{"a misspelt key", `{"resorces": []}`, "resorces"},
		{"no resources", `{}`, "no resources"},
		{"an address for strangers without public", `{"resources": [{"name": "a", "addr": "0.0.0.0:0"}]}`, "loopback"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-"))
			if err := os.WriteFile(path, []byte(c.cfg), 0o600); err != nil {
				t.Fatal(err)
			}
			err := run(t.Context(), io.Discard, "--config", path)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func run(ctx context.Context, out io.Writer, args ...string) error {
	cmd := command(out)
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}
