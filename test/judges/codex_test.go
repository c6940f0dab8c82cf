package judges

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/router/routertest"
)

// codexConfig sends the command line to the pool and nowhere else.
const codexConfig = `model = "gpt-5.6"
model_provider = "pool"
check_for_update_on_startup = false
[model_providers.pool]
name = "pool"
base_url = %q
env_key = "JUDGE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
`

// The command line sends what no client library does: client_metadata, and ids of
// its own on the messages of its user.
func TestCorpusCodexCommandLineCompletesAToolTurn(t *testing.T) {
	t.Parallel()
	packages := codexPackages.get(t)
	pool := routertest.Start(t, routertest.Config{Resources: resources("a"), Model: routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Turn: routertest.At(0), Tool: "exec_command"},
			Reply: []routertest.Out{routertest.CallTool("exec_command", map[string]any{"cmd": "echo the sum is $((40+2))"})}},
		{When: routertest.Match{LastOutputOf: "exec_command", LastOutput: "the sum is 42"},
			Reply: []routertest.Out{routertest.Say("It is forty-two.")}},
	}}})
	home, work := t.TempDir(), t.TempDir()
	config := fmt.Sprintf(codexConfig, strings.TrimSuffix(pool.Resource("a").URL(), "/"))
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	// It has no sandbox of its own here: the scripted model asks for nothing but echo.
	codex := exec.CommandContext(ctx, filepath.Join(packages, "node_modules", ".bin", "codex"), "exec", "--json",
		"--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-C", work, "What is the sum?")
	codex.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home, "JUDGE_KEY=sk-judge", "NO_PROXY=*"}
	codex.Dir, codex.WaitDelay = work, 5*time.Second
	var stdout, stderr bytes.Buffer
	codex.Stdout, codex.Stderr = &stdout, &stderr
	if err := codex.Run(); err != nil {
		t.Fatalf("codex exec: %v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	var ran, said string
	for line := range strings.Lines(stdout.String()) {
		var event struct {
			Type string
			Item struct {
				Type, Text string
				Output     string `json:"aggregated_output"`
			}
		}
		if json.Unmarshal([]byte(line), &event) != nil || event.Type != "item.completed" {
			continue
		}
		switch event.Item.Type {
		case "command_execution":
			ran += event.Item.Output
		case "agent_message":
			said += event.Item.Text
		}
	}
	if ran != "the sum is 42\n" || said != "It is forty-two." {
		t.Errorf("it ran %q and said %q:\n%s", ran, said, stdout.Bytes())
	}
	served(t, pool, 2, 0)
}
