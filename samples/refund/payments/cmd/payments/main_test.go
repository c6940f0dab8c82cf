package main

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/samples/refund/payments"
)

// The test binary is also the command, so that a test can kill a real process without building one.
func TestMain(m *testing.M) {
	if os.Getenv("PAYMENTS_TEST_AS_COMMAND") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

func launch(t *testing.T, args ...string) (*exec.Cmd, *payments.Client, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "PAYMENTS_TEST_AS_COMMAND=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "payments listening on ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("the first line is %q", line)
	}
	return cmd, payments.NewClient(url, &http.Transport{}), url
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

var request = payments.RefundRequest{ActionID: "refund/order-1842/v1", OrderID: "order-1842", AmountCents: 12900}

func TestRefundAnsweredBeforeSIGKILLIsThereAfterwards(t *testing.T) {
	db := t.TempDir() + "/p.db"
	var last payments.Refund
	for round := range 3 {
		cmd, client, _ := launch(t, "--db", db, "--dedupe=false")
		refund, err := client.Refund(deadline(t), "k", request)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		last = refund
		_, client, _ = launch(t, "--db", db)
		list, err := client.Refunds(deadline(t), request.ActionID)
		if err != nil || len(list) != round+1 || list[round] != last {
			t.Fatalf("round %d listed %v, %v, want %v last", round, list, err, last)
		}
	}
}

func TestFlagsReachTheService(t *testing.T) {
	ctx := deadline(t)
	cmd, client, url := launch(t, "--addr", "127.0.0.1:0", "--fault", "commit_then_drop", "--times", "2",
		"--read-fault", "status:503", "--read-times", "1", "--dedupe=false")
	var unclear *payments.Unclear
	for range 2 {
		if _, err := client.Refund(ctx, "k", request); !errors.As(err, &unclear) || unclear.Status != 0 {
			t.Fatalf("got %v, want no answer", err)
		}
	}
	if _, err := client.Refund(ctx, "k", request); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Refunds(ctx, request.ActionID); !errors.As(err, &unclear) || unclear.Status != 503 {
		t.Fatalf("got %v, want 503", err)
	}
	list, err := client.Refunds(ctx, request.ActionID)
	if err != nil || len(list) != 3 {
		t.Fatalf("listed %v, %v, want 3", list, err)
	}
	waiting := make(chan int, 1)
	go func() {
		resp, err := http.Get(url + "/_control/wait?event=committed&after=4")
		if err != nil {
			waiting <- 0
			return
		}
		resp.Body.Close()
		waiting <- resp.StatusCode
	}()
	if _, err := client.Refund(ctx, "k", request); err != nil {
		t.Fatal(err)
	}
	if status := <-waiting; status != http.StatusOK {
		t.Fatalf("the long poll answered %d", status)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("SIGTERM ended with %v", err)
	}
}

func TestSameKeyIsPaidOnceByDefault(t *testing.T) {
	ctx := deadline(t)
	_, client, _ := launch(t)
	for range 2 {
		if _, err := client.Refund(ctx, "k", request); err != nil {
			t.Fatal(err)
		}
	}
	if stats, err := client.Stats(ctx); err != nil || stats.Refunds != 1 {
		t.Fatalf("stats are %+v, %v, want 1 refund", stats, err)
	}
}

func TestWrongFlagsAreRefusedAtStart(t *testing.T) {
	for _, args := range [][]string{
		{"--fault", "drop"}, {"--fault", "lag:1s"}, {"--read-fault", "slow:1s"}, {"--fault", "status:503", "--times", "-1"},
		{"--dedupe", "false"}, {"--db", t.TempDir() + "/missing/p.db"}, {"--addr", "127.0.0.1:x"},
	} {
		cmd := command(&strings.Builder{})
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(deadline(t)); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
