package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// call runs the command line in this process.
func call(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestCommandLinesThatCannotBeReadExitWith2AndNameTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":                           {[]string{"show", "x", "--nope"}, "unknown flag: --nope"},
		"an unknown command":                        {[]string{"shew"}, `unknown command "shew"`},
		"an unknown command with a flag of its own": {[]string{"applaud", "x", "--by", "y"}, `unknown command "applaud" for onceward`},
		"the commands there are":                    {[]string{"applaud", "x", "--by", "y"}, "commands: approvals, approve, classify, complete, demo,"},
		"a command that was misspelt":               {[]string{"reslove", "x", "--by=y"}, "did you mean resolve?"},
		"an unknown command of pool":                {[]string{"pool", "enabel", "a", "--by", "dana"}, `unknown command "enabel" for onceward pool; did you mean enable?`},
		"a flag before any command":                 {[]string{"--by", "y", "show", "x"}, "unknown flag: --by"},
		"an empty workflow id":                      {[]string{"show", ""}, "workflow id is empty"},
		"a decision of nobody":                      {[]string{"resolve", "refund/1/v1", "--by", " \t ", "--status", "rejected"}, "by is empty"},
		"a decision of two lines":                   {[]string{"resolve", "refund/1/v1", "--by", "dana\nlee", "--status", "rejected"}, "one line"},
		"a completion of nobody":                    {[]string{"complete", "x", "--by", "  ", "--text", "done"}, "by is empty"},
		"a completion of two lines":                 {[]string{"complete", "x", "--by", "dana\nlee", "--text", "done"}, "one line"},
		"no workflow id":                            {[]string{"show"}, "usage: onceward show WORKFLOW_ID"},
		"an unknown story":                          {[]string{"demo", "love"}, `invalid argument "love"`},
		"a worker without a configuration":          {[]string{"worker"}, "--config is required"},
		"a decision without a person":               {[]string{"resolve", "refund/1/v1", "--status", "rejected"}, "--by is required"},
		"a decision without a status":               {[]string{"resolve", "refund/1/v1", "--by", "dana"}, "--status is required"},
		"a decision that is none":                   {[]string{"resolve", "refund/1/v1", "--by", "dana", "--status", "absent"}, "absent"},
		"a committed effect without its name":       {[]string{"resolve", "refund/1/v1", "--by", "dana", "--status", "committed"}, "--ref: resolve: committed receipt without a ref"},
		"a reversal without its reason":             {[]string{"resolve", "refund/1/v1", "--by", "dana", "--status", "reversed"}, "--note: reverse: reason is empty"},
		"an action id with a space":                 {[]string{"resolve", "refund/1 /v1", "--by", "dana", "--status", "rejected"}, "action id"},
		"a completion without a text":               {[]string{"complete", "x", "--by", "dana"}, "--text is required"},
		"a status that is none":                     {[]string{"list", "--status", "asleep"}, "asleep"},
		"a route disabled without a person":         {[]string{"pool", "disable", "a", "--reason", "x"}, "--by is required"},
		"a route disabled without a reason":         {[]string{"pool", "disable", "a", "--by", "dana"}, "--reason is required"},
		"a route disabled for no time":              {[]string{"pool", "disable", "a", "--by", "dana", "--reason", "x", "--for", "-1s"}, "--for"},
		"a route enabled without a person":          {[]string{"pool", "enable", "a"}, "--by is required"},
		"a test of no route":                        {[]string{"pool", "test", "--by", "dana"}, "usage: onceward pool test RESOURCE[/MODEL]"},
		"a test of a resource without its model":    {[]string{"pool", "test", "a/", "--by", "dana"}, "no model after the slash"},
		"a route without a resource":                {[]string{"pool", "enable", "/m", "--by", "dana"}, "resource is empty"},
		"a preflight of nothing":                    {[]string{"preflight"}, "--config is required"},
		"a probe of nothing":                        {[]string{"probe"}, "--config is required"},
		"a probe without time":                      {[]string{"probe", "--config", "x", "--timeout", "0s"}, "--timeout"},
		"a shape of runs and of a query":            {[]string{"shape", "x", "--query", "y"}, "not both"},
		"a shape of nothing":                        {[]string{"shape", "--limit", "0"}, "--limit"},
		"actions of a status of runs":               {[]string{"list", "--actions", "--status", "closed"}, "--status is of runs"},
		"an address that is a URL":                  {[]string{"list", "--address", "http://localhost:7233"}, "--address is not host:port"},
		"an address without a port":                 {[]string{"show", "x", "--address", "localhost"}, "--address is not host:port"},
		"a codec server without a scheme":           {[]string{"show", "x", "--codec-endpoint", "127.0.0.1:19400"}, "--codec-endpoint is not a URL that begins with http:// or https://"},
		"a limit that is none":                      {[]string{"list", "--limit", "0"}, "--limit"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := call(t, "", c.args...)
			if code != 2 || !strings.Contains(errs, c.want) {
				t.Errorf("exit %d, %q, want 2 and %q", code, errs, c.want)
			}
		})
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	commands := root().Commands()
	for _, cmd := range commands {
		commands = append(commands, cmd.Commands()...)
	}
	for _, cmd := range commands {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: short %t, long %t, example %t", cmd.Name(), cmd.Short != "", cmd.Long != "", cmd.Example != "")
		}
	}
	code, out, _ := call(t, "", "--help")
	if code != 0 || !strings.Contains(out, "Exit codes") {
		t.Errorf("exit %d, the exit codes are not in the help", code)
	}
}

func TestTemporalThatIsNotThereIsSaidWithARemedy(t *testing.T) {
	code, _, errs := call(t, "", "show", "x", "--address", "127.0.0.1:1")
	if code != 1 || !strings.Contains(errs, "127.0.0.1:1") || !strings.Contains(errs, "onceward dev") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

func TestClassifyReadsLinesAndGoesOnAfterABadOne(t *testing.T) {
	code, out, _ := call(t, `{"id":1,"status":429,"headers":{},"body":{"error":{"code":"rate_limit_exceeded","message":"slow down"}}}`+"\nnot json\n", "classify")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 2 || !strings.Contains(lines[0], `"rate_limited"`) || !strings.Contains(lines[1], `"error"`) {
		t.Errorf("exit %d, output %q", code, out)
	}
}

// Nothing is started, neither Temporal nor what needs none: the CLI would leave a
// file behind, and the stack a folder.
func TestPortThatSomebodyHasIsRefusedBeforeAnythingStarts(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	cli, started := filepath.Join(dir, "temporal"), filepath.Join(dir, "started")
	if err := os.WriteFile(cli, []byte("#!/bin/sh\ntouch "+started+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	somebody := httptest.NewServer(http.NotFoundHandler())
	defer somebody.Close()
	port := somebody.Listener.Addr().(*net.TCPAddr).Port
	for name, args := range map[string][]string{
		"E40 dev":              {"dev", "--port"},
		"E40 dev, the UI":      {"dev", "--ui-port"},
		"E40 dev, payments":    {"dev", "--payments-port"},
		"E40 dev, the pool":    {"dev", "--pool-port"},
		"E40 a demo":           {"demo", "refund", "--port"},
		"E40 a demo of a quiz": {"demo", "quiz", "--ui-port"},
	} {
		t.Run(name, func(t *testing.T) {
			flag := args[len(args)-1]
			code, out, errs := call(t, "", append(args, strconv.Itoa(port), "--temporal-cli", cli)...)
			if code != 1 || out != "" || !strings.Contains(errs, fmt.Sprintf("port %d is taken", port)) || !strings.Contains(errs, "leave "+flag+" out") {
				t.Errorf("exit %d, output %q, %q", code, out, errs)
			}
			if _, err := os.Stat(started); err == nil {
				t.Error("the Temporal CLI was started")
			}
			if left, err := os.ReadDir(filepath.Join(dir, "tmp")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
