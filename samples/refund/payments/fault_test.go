package payments

import (
	"context"
	"errors"
	"testing"
	"time"
)

func wantUnclear(t *testing.T, err error, status int) {
	t.Helper()
	var unclear *Unclear
	if !errors.As(err, &unclear) || unclear.Status != status {
		t.Fatalf("got %v, want an unclear outcome with status %d", err, status)
	}
	var refused *Refused
	if errors.As(err, &refused) {
		t.Fatalf("%v is a refusal", err)
	}
}

func TestWriteFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fault string
		status      int // of the unclear outcome, 0: no answer
		paid        int
	}{
		{"commit_then_drop pays and gives no answer", "commit_then_drop", 0, 1},
		{"drop_before_commit pays nothing and gives no answer", "drop_before_commit", 0, 0},
		{"status pays nothing", "status:503", 503, 0},
		{"status 409 is no refusal", "status:409", 409, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fault, err := ParseWriteFault(c.fault, 1)
			if err != nil {
				t.Fatal(err)
			}
			b := start(t, Config{Fault: fault})
			_, err = b.Refund(ctx(t), "k", order1842)
			wantUnclear(t, err, c.status)
			b.paid(t, c.paid)
			if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
				t.Fatalf("the fault hit a second request: %v", err)
			}
			b.paid(t, c.paid+1)
		})
	}
}

func TestFaultHitsSoManyRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ times, of, hits int }{{1, 4, 1}, {3, 4, 3}, {0, 4, 4}} {
		b := start(t, Config{Fault: Fault{Kind: AnswerStatus, Status: 503, Times: c.times}})
		hits := 0
		for range c.of {
			if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
				hits++
			}
		}
		if hits != c.hits {
			t.Errorf("times %d hit %d of %d, want %d", c.times, hits, c.of, c.hits)
		}
		b.paid(t, c.of-c.hits)
	}
}

func TestCommitThenDropOfAKnownKeyPaysOnce(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Dedupe: true, Fault: Fault{Kind: CommitThenDrop, Times: 2}})
	for range 2 {
		_, err := b.Refund(ctx(t), "k", order1842)
		wantUnclear(t, err, 0)
	}
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	b.paid(t, 1)
}

func TestSlowWaitsThenPays(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Fault: Fault{Kind: Slow, Delay: 50 * time.Millisecond, Times: 1}})
	began := time.Now()
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Fatalf("answered after %s", took)
	}
	b.paid(t, 1)
}

func TestSlowPaysAClientThatHungUp(t *testing.T) {
	t.Parallel()
	hungUp := make(chan struct{}) // the delay may be over before that
	b := start(t, Config{
		Fault:        Fault{Kind: Slow, Delay: 10 * time.Millisecond, Times: 1},
		BeforeCommit: func(RefundRequest) { <-hungUp },
	})
	client, hangUp := context.WithCancel(ctx(t))
	got := make(chan error, 1)
	go func() {
		_, err := b.Refund(client, "k", order1842)
		got <- err
	}()
	if _, err := b.WaitReceived(ctx(t), 1); err != nil {
		t.Fatal(err)
	}
	hangUp()
	err := <-got
	close(hungUp)
	wantUnclear(t, err, 0)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the cancellation inside", err)
	}
	if _, err := b.WaitCommitted(ctx(t), 1); err != nil {
		t.Fatal(err)
	}
	b.paid(t, 1)
}

func TestSlowRefundIsNotPaidWhenPaymentsStops(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/p.db"
	b := start(t, Config{DB: path, Fault: Fault{Kind: Slow, Delay: time.Hour, Times: 1}})
	got := make(chan error, 1)
	go func() {
		_, err := b.Refund(ctx(t), "k", order1842)
		got <- err
	}()
	if _, err := b.WaitReceived(ctx(t), 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantUnclear(t, <-got, 503)
	start(t, Config{DB: path}).paid(t, 0)
}

func TestCommitThenSlowHoldsTheAnswerOfAPaidRefund(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Fault: Fault{Kind: CommitThenSlow, Delay: time.Hour, Times: 1}})
	client, kill := context.WithCancel(ctx(t))
	got := make(chan error, 1)
	go func() {
		_, err := b.Refund(client, "k", order1842)
		got <- err
	}()
	if _, err := b.WaitCommitted(ctx(t), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-got:
		t.Fatalf("the answer was not held back: %v", err)
	default:
	}
	kill()
	wantUnclear(t, <-got, 0)
	b.paid(t, 1)
}

func TestReadStatusHitsReadsOnly(t *testing.T) {
	t.Parallel()
	b := start(t, Config{ReadFault: Fault{Kind: AnswerStatus, Status: 503, Times: 2}})
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := b.Refunds(ctx(t), order1842.ActionID)
		wantUnclear(t, err, 503)
	}
	if list, err := b.Refunds(ctx(t), order1842.ActionID); err != nil || len(list) != 1 {
		t.Fatalf("listed %v, %v after the fault", list, err)
	}
}

func TestLagHidesARefundUntilItIsOldEnough(t *testing.T) {
	t.Parallel()
	b := start(t, Config{ReadFault: Fault{Kind: Lag, Delay: time.Minute}})
	committed := time.Now()
	clock := make(chan time.Time, 1)
	b.now = func() time.Time { return <-clock }
	clock <- committed
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		age  time.Duration
		want int
	}{{0, 0}, {time.Minute - 1, 0}, {time.Minute, 1}} {
		clock <- committed.Add(c.age)
		if list, err := b.Refunds(ctx(t), order1842.ActionID); err != nil || len(list) != c.want {
			t.Errorf("at the age of %s listed %d, %v, want %d", c.age, len(list), err, c.want)
		}
	}
	b.paid(t, 1) // the truth does not lag
}

func TestReadWithoutLagShowsARefundFromTheFuture(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	b.now = func() time.Time { return time.Now().Add(time.Hour) }
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	if list, err := b.Refunds(ctx(t), order1842.ActionID); err != nil || len(list) != 1 {
		t.Fatalf("listed %v, %v", list, err)
	}
}

func TestHooksSeeTheRefundBeforeTheClientDoes(t *testing.T) {
	t.Parallel()
	var events []string
	released, reached := make(chan struct{}), make(chan struct{})
	b := start(t, Config{
		Dedupe:       true,
		BeforeCommit: func(in RefundRequest) { events = append(events, "before "+in.OrderID) },
		AfterCommit: func(r Refund) {
			events = append(events, "after "+r.RefundID)
			close(reached)
			<-released
		},
	})
	got := make(chan error, 1)
	go func() {
		_, err := b.Refund(ctx(t), "k", order1842)
		got <- err
	}()
	<-reached
	b.paid(t, 1)
	select {
	case err := <-got:
		t.Fatalf("answered while the hook held it: %v", err)
	default:
	}
	close(released)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if _, err := b.Refund(ctx(t), "k", order1842); err != nil {
		t.Fatal(err)
	}
	if len(events) != 3 || events[0] != "before order-1842" || events[1] != "after rf-000001" || events[2] != "before order-1842" {
		t.Fatalf("hooks were called as %v", events)
	}
}

func TestParseFault(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "commit_then_drop", "commit_then_slow:1m0s", "drop_before_commit", "slow:1.5s", "status:503"} {
		if f, err := ParseWriteFault(text, 2); err != nil || f.String() != text || (f.Times != 2) != (text == "") {
			t.Errorf("write fault %q is %v, %v", text, f, err)
		}
	}
	for _, text := range []string{"", "status:503", "lag:2s"} {
		if f, err := ParseReadFault(text, 0); err != nil || f.String() != text {
			t.Errorf("read fault %q is %v, %v", text, f, err)
		}
	}
	for _, text := range []string{"lag:2s", "slow", "slow:x", "slow:-1s", "slow:25h", "status", "status:200", "status:600", "drop", "commit_then_drop:1s", ":"} {
		if f, err := ParseWriteFault(text, 1); err == nil {
			t.Errorf("write fault %q is %v, want an error", text, f)
		}
	}
	for _, text := range []string{"slow:1s", "commit_then_drop", "drop_before_commit", "lag", "lag:0s", "status:abc"} {
		if f, err := ParseReadFault(text, 1); err == nil {
			t.Errorf("read fault %q is %v, want an error", text, f)
		}
	}
	if _, err := ParseWriteFault("status:503", -1); err == nil {
		t.Error("times -1 was taken")
	}
	if _, err := New(Config{Fault: Fault{Kind: Lag, Delay: time.Second}}); err == nil {
		t.Error("New took a read fault as a write fault")
	}
}
