package workflows

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onceward/onceward"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func facts(change func(*Facts)) Facts {
	f := Facts{
		Policy:      onceward.WritePolicy{Lease: time.Minute, Settle: 5 * time.Second, Skew: 2 * time.Second, KeyTTL: 24 * time.Hour, ReadHorizon: 30 * 24 * time.Hour},
		State:       onceward.StateReconciling,
		FirstCommit: start, NotAfter: start.Add(time.Minute), ReadAt: start.Add(67 * time.Second), Commits: 1, Reads: 1,
	}
	change(&f)
	return f
}

// old is a commit of 30 hours ago at a product that remembers keys for 24.
func old(keyed bool) func(*Facts) {
	return func(f *Facts) { f.Policy.Keyed, f.ReadAt = keyed, start.Add(30*time.Hour) }
}

func keyed(ttl time.Duration) func(*Facts) {
	return func(f *Facts) { f.Policy.Keyed, f.Policy.KeyTTL = true, ttl }
}

func TestAfterRead(t *testing.T) {
	for name, c := range map[string]struct {
		facts  Facts
		status onceward.ReceiptStatus
		failed bool
		want   onceward.ActionState
	}{
		"found":                                               {facts(func(*Facts) {}), onceward.StatusCommitted, false, onceward.StateCommitted},
		"found while the lease runs":                          {facts(func(f *Facts) { f.ReadAt = start.Add(time.Second) }), onceward.StatusCommitted, false, onceward.StateCommitted},
		"refusal found":                                       {facts(func(*Facts) {}), onceward.StatusRejected, false, onceward.StateRejected},
		"absent, settled":                                     {facts(func(*Facts) {}), onceward.StatusAbsent, false, onceward.StateCommitting},
		"absent a moment before it is settled":                {facts(func(f *Facts) { f.ReadAt = start.Add(67*time.Second - 1) }), onceward.StatusAbsent, false, onceward.StateReconciling},
		"absent while the lease runs":                         {facts(func(f *Facts) { f.ReadAt = start.Add(time.Second) }), onceward.StatusAbsent, false, onceward.StateReconciling},
		"absent, neither settle nor key":                      {facts(func(f *Facts) { f.Policy.Settle = 0 }), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"absent, keyed":                                       {facts(func(f *Facts) { f.Policy.Settle, f.Policy.Keyed = 0, true }), onceward.StatusAbsent, false, onceward.StateCommitting},
		"absent, keyed, the key forgotten":                    {facts(func(f *Facts) { f.Policy.Settle, f.Policy.Keyed, f.Policy.KeyTTL = 0, true, time.Minute }), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"absent past the read's horizon":                      {facts(func(f *Facts) { f.ReadAt = start.Add(31 * 24 * time.Hour) }), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"absent again and again":                              {facts(func(f *Facts) { f.Commits = maxCommits }), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"accepted":                                            {facts(func(*Facts) {}), onceward.StatusAccepted, false, onceward.StateAccepted},
		"accepted once, then gone":                            {facts(func(f *Facts) { f.State = onceward.StateAccepted }), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"the read fails while the lease runs":                 {facts(func(f *Facts) { f.ReadAt, f.FailedReads = start.Add(time.Second), 99 }), "", true, onceward.StateReconciling},
		"the read fails once after it":                        {facts(func(f *Facts) { f.FailedReads = 1 }), "", true, onceward.StateReconciling},
		"the read keeps failing":                              {facts(func(f *Facts) { f.FailedReads = maxReadFailures }), "", true, onceward.StateAwaitingOperator},
		"the read answers what no read may":                   {facts(func(*Facts) {}), onceward.StatusUnknown, false, onceward.StateAwaitingOperator},
		"absent, settled, of a reset action":                  {facts(func(f *Facts) { f.Reset = true }), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"absent, early, of a reset action":                    {facts(func(f *Facts) { f.Reset, f.ReadAt = true, start.Add(time.Second) }), onceward.StatusAbsent, false, onceward.StateReconciling},
		"found, of a reset action":                            {facts(func(f *Facts) { f.Reset = true }), onceward.StatusCommitted, false, onceward.StateCommitted},
		"the read answers so early":                           {facts(func(f *Facts) { f.ReadAt = start.Add(time.Second) }), onceward.StatusUnknown, false, onceward.StateReconciling},
		"E36 the read finds a conflict":                       {facts(func(f *Facts) { f.Conflict = "c" }), onceward.StatusConflict, false, onceward.StateAwaitingOperator},
		"E36 a conflict while the lease runs asks nobody yet": {facts(func(f *Facts) { f.Conflict, f.ReadAt = "c", start.Add(time.Second) }), onceward.StatusConflict, false, onceward.StateReconciling},
		"E36 a conflict is not forgotten when a later read finds nothing":           {facts(func(f *Facts) { f.Conflict = "c" }), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"E36 a conflict is never committed":                                         {facts(func(f *Facts) { f.Conflict = "c" }), onceward.StatusCommitted, false, onceward.StateAwaitingOperator},
		"E36 a conflict after the product had accepted it":                          {facts(func(f *Facts) { f.Conflict, f.State = "c", onceward.StateAccepted }), onceward.StatusConflict, false, onceward.StateAwaitingOperator},
		"E36 one failure twice under one key asks a person":                         {facts(func(f *Facts) { f.Policy.Keyed, f.Stored, f.Commits = true, true, 2 }), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"E36 one failure twice without a key is asked again":                        {facts(func(f *Facts) { f.Stored, f.Commits = true, 2 }), onceward.StatusAbsent, false, onceward.StateCommitting},
		"E37 refused after it was accepted, and nobody had heard":                   {facts(func(f *Facts) { f.State = onceward.StateAccepted }), onceward.StatusRejected, false, onceward.StateRejected},
		"E37 refused after a model heard that it is submitted":                      {facts(func(f *Facts) { f.State, f.Submitted = onceward.StateAccepted, true }), onceward.StatusRejected, false, onceward.StateReversed},
		"E37 made after a model heard that it is submitted":                         {facts(func(f *Facts) { f.State, f.Submitted = onceward.StateAccepted, true }), onceward.StatusCommitted, false, onceward.StateCommitted},
		"E39 keyed and settled, and the key is forgotten":                           {facts(old(true)), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"E39 settled without a key does not care for a key's life":                  {facts(old(false)), onceward.StatusAbsent, false, onceward.StateCommitting},
		"E39 keyed, and the key is forgotten by a slow clock when the lease ends":   {facts(keyed(time.Minute + 2*time.Second + 67*time.Second - 1)), onceward.StatusAbsent, false, onceward.StateAwaitingOperator},
		"E39 keyed, and the key is known until the lease ends by the slowest clock": {facts(keyed(time.Minute + 2*time.Second + 67*time.Second)), onceward.StatusAbsent, false, onceward.StateCommitting},
		"accepted stays accepted":                                                   {facts(func(f *Facts) { f.State = onceward.StateAccepted }), onceward.StatusAccepted, false, onceward.StateAccepted},
	} {
		got, _, pause := AfterRead(c.facts, c.status, c.failed)
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got == c.facts.State && pause <= 0 {
			t.Errorf("%s: stays in %s without a pause", name, got)
		}
	}
}

// The wait before a read that may settle the matter ends exactly when it may.
func TestAfterReadWaitsUntilAbsentIsAuthoritative(t *testing.T) {
	f := facts(func(f *Facts) { f.ReadAt, f.Reads = start.Add(66*time.Second), 9 })
	if _, _, pause := AfterRead(f, onceward.StatusAbsent, false); pause != time.Second {
		t.Errorf("pause %s, want 1s", pause)
	}
}

// A product with a truthful read, and every sequence of faults and resets around
// it: the machine never commits while an earlier commit may still land, never
// commits after a receipt, never asks a person about what is absent while a commit
// may still land, and never leaves the table of transitions.
func TestNoSequenceOfEventsCommitsTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := onceward.WritePolicy{
			Lease: time.Duration(rapid.IntRange(1, 60).Draw(t, "lease")) * time.Second, Settle: time.Duration(rapid.IntRange(0, 30).Draw(t, "settle")) * time.Second,
			Skew: time.Second, KeyTTL: 24 * time.Hour, ReadHorizon: 30 * 24 * time.Hour,
		}
		state := onceward.StateProposed
		move := func(to onceward.ActionState) {
			if !Allowed(state, to) {
				t.Fatalf("no way from %s to %s", state, to)
			}
			state = to
		}
		now, effects, commits := start, 0, 0
		var notAfter, lands, visible time.Time // of an effect under way: when it happens, when the read shows it
		land := func() {
			if !lands.IsZero() && !now.Before(lands) {
				effects, lands = effects+1, time.Time{}
			}
		}
		f := Facts{Policy: policy, FirstCommit: start}
		move(onceward.StateCommitting)
		for range 200 {
			if state.Final() || state == onceward.StateAwaitingOperator {
				break
			}
			if rapid.IntRange(0, 19).Draw(t, "reset") == 0 { // what was in flight goes on without its execution
				f.Reset, f.FirstCommit, state = true, now, onceward.StateCommitting
			}
			switch state {
			case onceward.StateCommitting:
				land()
				if effects > 0 && !now.Before(visible) { // read first, in the same activity
					move(onceward.StateCommitted)
					continue
				}
				if f.Reset { // the guard stops it
					notAfter = now.Add(policy.Lease)
					f.Reads, f.FailedReads = 0, 0
					move(onceward.StateReconciling)
					continue
				}
				if f.Conflict != "" {
					t.Fatalf("commit %d after a conflict", commits+1)
				}
				if effects > 0 || !lands.IsZero() {
					t.Fatalf("commit %d at %s while an earlier one exists or is under way", commits+1, now.Sub(start))
				}
				commits++
				notAfter = now.Add(policy.Lease)
				switch rapid.SampledFrom([]string{"answered", "lost before", "lost after", "late"}).Draw(t, "commit") {
				case "answered":
					effects++
					visible = now
					move(onceward.StateCommitted)
				case "lost before":
					move(onceward.StateReconciling)
				case "lost after", "late": // sent inside the lease; processed and shown within settle of its end
					lands = now.Add(time.Duration(rapid.Int64Range(0, int64(policy.Lease+policy.Settle)).Draw(t, "lands")))
					visible = time.Unix(0, rapid.Int64Range(lands.UnixNano(), notAfter.Add(policy.Settle).UnixNano()).Draw(t, "visible"))
					move(onceward.StateReconciling)
				}
				f.Reads, f.FailedReads = 0, 0
			case onceward.StateReconciling:
				f.State, f.ReadAt, f.NotAfter, f.Commits = state, now, notAfter, commits
				f.Reads++
				land()
				failed := rapid.IntRange(0, 3).Draw(t, "read fails") == 0
				status := onceward.StatusAbsent
				if effects > 0 && !now.Before(visible) {
					status = onceward.StatusCommitted
				}
				if failed {
					f.FailedReads, status = f.FailedReads+1, ""
				} else {
					f.FailedReads = 0
				}
				if !failed && rapid.IntRange(0, 9).Draw(t, "conflict") == 0 {
					status, f.Conflict = onceward.StatusConflict, "conflict"
				}
				next, _, pause := AfterRead(f, status, failed)
				if next == state {
					now = now.Add(max(pause, time.Millisecond))
					continue
				}
				if next == onceward.StateAwaitingOperator && status == onceward.StatusAbsent && f.Conflict == "" && (effects > 0 || !lands.IsZero()) {
					t.Fatalf("a person is asked at %s while a commit exists or is under way", now.Sub(start))
				}
				if next == onceward.StateAwaitingOperator && f.Conflict != "" && !lands.IsZero() {
					t.Fatalf("a person is asked about a conflict at %s while a commit is under way", now.Sub(start))
				}
				if next == onceward.StateCommitted && f.Conflict != "" {
					t.Fatal("a conflict was committed")
				}
				move(next)
			default:
				t.Fatalf("state %s", state)
			}
			land()
		}
		now = now.Add(time.Hour)
		land()
		if effects > 1 {
			t.Fatalf("%d effects", effects)
		}
		if state == onceward.StateCommitted && effects != 1 {
			t.Fatalf("committed with %d effects", effects)
		}
	})
}

func TestFinalStatesHaveNoWayOut(t *testing.T) {
	for _, tr := range Transitions {
		if tr.From.Final() {
			t.Errorf("%s leads on to %s", tr.From, tr.To)
		}
		if tr.When == "" {
			t.Errorf("%s -> %s has no reason", tr.From, tr.To)
		}
	}
	for _, move := range [][2]onceward.ActionState{
		{onceward.StateAwaitingOperator, onceward.StateReconciling}, {onceward.StateReversed, onceward.StateCommitting}, {onceward.StateReversed, onceward.StateReconciling},
	} {
		if Allowed(move[0], move[1]) {
			t.Errorf("%s leads to %s: only a person's decision may end it", move[0], move[1])
		}
	}
}
