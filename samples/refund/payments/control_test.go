package payments

import (
	"net/http"
	"strings"
	"testing"
)

func TestFaultIsSetAndLiftedWhileRunning(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Dedupe: true, ReadFault: Fault{Kind: AnswerStatus, Status: 503}})
	set := func(body, want string) {
		t.Helper()
		if status, got := b.send(t, "POST", "/_control/fault", "", []byte(body)); status != 200 || strings.TrimSpace(got) != want {
			t.Fatalf("answered %d %s, want %s", status, got, want)
		}
	}
	set(`{"fault":"status:500"}`, `{"fault":"status:500","read_fault":"status:503","read_times":0,"times":1}`)
	set(`{"fault":"status:503","times":0}`, `{"fault":"status:503","read_fault":"status:503","read_times":0,"times":0}`)
	for range 2 {
		_, err := b.Refund(ctx(t), "k", order1842)
		wantUnclear(t, err, 503)
		_, err = b.Refunds(ctx(t), order1842.ActionID)
		wantUnclear(t, err, 503)
	}
	set(`{"fault":""}`, `{"fault":"","read_fault":"status:503","read_times":0,"times":0}`)
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	set(`{"read_fault":"lag:1h","read_times":1}`, `{"fault":"","read_fault":"lag:1h0m0s","read_times":1,"times":0}`)
	if list, err := b.Refunds(ctx(t), order1842.ActionID); err != nil || len(list) != 0 {
		t.Fatalf("listed %v, %v under a lag", list, err)
	}
	if list, err := b.Refunds(ctx(t), order1842.ActionID); err != nil || len(list) != 1 {
		t.Fatalf("listed %v, %v after the lag", list, err)
	}
}

func TestBadControlRequestChangesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Fault: Fault{Kind: DropBeforeCommit}})
	for _, body := range []string{``, `{"fautl":""}`, `{"fault":"drop"}`, `{"fault":"","read_fault":"slow:1s"}`, `{"times":3}`, `{"read_times":3}`, `{"fault":"commit_then_drop","times":-1}`} {
		if status, got := b.send(t, "POST", "/_control/fault", "", []byte(body)); status != 400 {
			t.Errorf("%s answered %d %s, want 400", body, status, got)
		}
	}
	if got := b.writeFault.get().Kind; got != DropBeforeCommit {
		t.Errorf("the fault is now %q", got)
	}
	for _, query := range []string{"", "?event=committed", "?event=paid&after=1", "?event=committed&after=-1", "?event=committed&after=x"} {
		if status, got := b.send(t, "GET", "/_control/wait"+query, "", nil); status != 400 {
			t.Errorf("wait %s answered %d %s, want 400", query, status, got)
		}
	}
}

func TestWaitAnswersWhenItHasHappened(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	if status, got := b.send(t, "GET", "/_control/wait?event=committed&after=0", "", nil); status != 200 || strings.TrimSpace(got) != `{"count":0,"event":"committed"}` {
		t.Fatalf("answered %d %s", status, got)
	}
	got := make(chan string, 1)
	go func() {
		_, body := b.send(t, "GET", "/_control/wait?event=committed&after=2", "", nil)
		got <- body
	}()
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	select {
	case body := <-got:
		t.Fatalf("answered after one refund: %s", body)
	default:
	}
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	if body := <-got; strings.TrimSpace(body) != `{"count":2,"event":"committed"}` {
		t.Fatalf("answered %s", body)
	}
}

func TestWaitEndsWhenPaymentsStops(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	got := make(chan error, 1)
	go func() {
		_, err := b.WaitCommitted(ctx(t), 1)
		got <- err
	}()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err == nil {
		t.Fatal("the wait ended without an error")
	}
	_, err := b.Refund(ctx(t), "k", order1842)
	wantUnclear(t, err, 503)
}

func TestPostFromAForeignWebPageIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	req, err := http.NewRequestWithContext(ctx(t), "POST", b.url+"/_control/fault", strings.NewReader(`{"fault":"commit_then_drop"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := b.transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden || b.writeFault.get().Kind != NoFault {
		t.Fatalf("answered %d, the fault is %q", resp.StatusCode, b.writeFault.get())
	}
}
