package workflows

import (
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func failure(class onceward.Class) onceward.Failure {
	return *onceward.NewFailure(class, onceward.PhaseSent, "")
}

func TestDecide(t *testing.T) {
	with := func(f onceward.Failure, change func(*onceward.Failure)) onceward.Failure {
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		situation Situation
		want      Step
	}{
		"rate limited asks another":                                                 {Situation{Failure: failure(onceward.ClassRateLimited)}, StepNext},
		"server error asks another":                                                 {Situation{Failure: failure(onceward.ClassServerError)}, StepNext},
		"server error after a commit asks another":                                  {Situation{Failure: failure(onceward.ClassServerError), Committed: true}, StepNext},
		"worker lost replays":                                                       {Situation{Failure: failure(onceward.ClassWorkerLost), Committed: true}, StepNext},
		"a malformed request stops":                                                 {Situation{Failure: failure(onceward.ClassInvalidRequest)}, StepStop},
		"a content filter is never routed around":                                   {Situation{Failure: failure(onceward.ClassContentFiltered)}, StepStop},
		"a policy block is never routed around":                                     {Situation{Failure: failure(onceward.ClassPolicyBlocked)}, StepStop},
		"a refusal is the answer":                                                   {Situation{Failure: failure(onceward.ClassRefusal)}, StepStop},
		"unknown asks another before a commit":                                      {Situation{Failure: failure(onceward.ClassUnknown)}, StepNext},
		"unknown stops after a commit":                                              {Situation{Failure: failure(onceward.ClassUnknown), Committed: true}, StepStop},
		"billing asks another":                                                      {Situation{Failure: failure(onceward.ClassBilling)}, StepNext},
		"an empty 200 asks another":                                                 {Situation{Failure: failure(onceward.ClassEmptyOutput)}, StepNext},
		"prose for JSON asks another":                                               {Situation{Failure: failure(onceward.ClassInvalidOutput)}, StepNext},
		"foreign reasoning is stripped once":                                        {Situation{Failure: failure(onceward.ClassUndecryptableReasoning)}, StepRepair},
		"foreign reasoning is not stripped twice":                                   {Situation{Failure: failure(onceward.ClassUndecryptableReasoning), Repairs: []onceward.Repair{onceward.RepairStripReasoning}}, StepNext},
		"an orphan call is repaired once":                                           {Situation{Failure: failure(onceward.ClassMissingToolOutput)}, StepRepair},
		"an orphan call after the repair stops":                                     {Situation{Failure: failure(onceward.ClassMissingToolOutput), Repairs: []onceward.Repair{onceward.RepairHistory}}, StepStop},
		"a cut answer gets a larger limit once":                                     {Situation{Failure: failure(onceward.ClassIncompleteOutput)}, StepRepair},
		"E05 cut at the larger limit too, another resource is asked":                {Situation{Failure: failure(onceward.ClassIncompleteOutput), Repairs: []onceward.Repair{onceward.RepairRaiseOutput}}, StepNext},
		"E05 a pinned run has no other":                                             {Situation{Failure: failure(onceward.ClassIncompleteOutput), Repairs: []onceward.Repair{onceward.RepairRaiseOutput}, Pinned: true}, StepStop},
		"our own deadline is the clock's to decide":                                 {Situation{Failure: failure(onceward.ClassDeadlineExceeded)}, StepNext},
		"not sent is tried again, even after a commit":                              {Situation{Failure: *onceward.NotSentFailure(onceward.ClassUnknown, ""), Committed: true, NotSent: 1}, StepNext},
		"not sent has a cap of its own":                                             {Situation{Failure: *onceward.NotSentFailure(onceward.ClassWorkerLost, ""), NotSent: maxNotSent}, StepStop},
		"a pinned run's state is gone":                                              {Situation{Failure: failure(onceward.ClassStaleAnchor), Pinned: true}, StepStop},
		"a stale anchor is dropped by a free run":                                   {Situation{Failure: failure(onceward.ClassStaleAnchor)}, StepRepair},
		"a pinned run waits for its owner":                                          {Situation{Failure: failure(onceward.ClassRateLimited), Pinned: true}, StepNext},
		"provider state is not portable":                                            {Situation{Failure: with(failure(onceward.ClassServerError), func(f *onceward.Failure) { f.ProviderStateCreated = true })}, StepStop},
		"what may be held already is not asked for again, whatever repair there is": {Situation{Failure: with(failure(onceward.ClassIncompleteOutput), func(f *onceward.Failure) { f.ProviderStateCreated = true }), Pinned: true}, StepStop},
		"a lost worker's attempt may be held already":                               {Situation{Failure: with(failure(onceward.ClassWorkerLost), func(f *onceward.Failure) { f.ProviderStateCreated = true }), Pinned: true}, StepStop},
		"a deadline does not tell what is held":                                     {Situation{Failure: with(failure(onceward.ClassDeadlineExceeded), func(f *onceward.Failure) { f.ProviderStateCreated = true }), Pinned: true}, StepStop},
		"a failure that says it stays, stays":                                       {Situation{Failure: with(failure(onceward.ClassServerError), func(f *onceward.Failure) { f.FallbackEligible, f.Retryable = false, false })}, StepStop},
	} {
		if got, why := Decide(c.situation); got != c.want || why == "" {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}

// Whatever the class, a turn ends: repeating the decision with what it asks for
// done runs out of repairs, and no class asks for a repair twice.
func TestDecideNeverRepairsTwice(t *testing.T) {
	for _, rule := range onceward.Classes() {
		s := Situation{Failure: failure(rule.Class)}
		for range 3 {
			step, _ := Decide(s)
			if step == StepRepair && slices.Contains(s.Repairs, s.Failure.Repair) {
				t.Errorf("%s repairs %s twice", rule.Class, s.Failure.Repair)
			}
			if step == StepRepair {
				s.Repairs = append(s.Repairs, s.Failure.Repair)
			}
		}
	}
}

// What is repaired in the transcript is repaired in every later turn; what is
// about one answer is not.
func TestRepairsOfTheTranscriptLast(t *testing.T) {
	for repair, want := range map[onceward.Repair]bool{
		onceward.RepairNone: false, onceward.RepairHistory: false, onceward.RepairStripIDs: true, onceward.RepairStripReasoning: true,
		onceward.RepairFullInput: false, onceward.RepairLowerOutput: false, onceward.RepairRaiseOutput: false,
	} {
		if got := lasting(repair); got != want {
			t.Errorf("%q lasts: %v, want %v", repair, got, want)
		}
	}
}

// E14: strip_ids is made once. Reasoning that was left out took the ids along, and
// so did a repair that lasts from an earlier turn.
func TestRepairThatDidNotHelpIsNotMadeAgain(t *testing.T) {
	refused := failure(onceward.ClassInvalidRequest)
	refused.Repair = onceward.RepairStripIDs
	for name, c := range map[string]struct {
		repairs []onceward.Repair
		want    Step
	}{
		"E14 an id is refused for the first time": {nil, StepRepair},
		"E14 and again without any ids":           {[]onceward.Repair{onceward.RepairStripIDs}, StepStop},
		"and after reasoning was left out":        {[]onceward.Repair{onceward.RepairStripReasoning}, StepStop},
		"after another repair":                    {[]onceward.Repair{onceward.RepairHistory}, StepRepair},
	} {
		if got, why := Decide(Situation{Failure: refused, Repairs: c.repairs}); got != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
	sealed := failure(onceward.ClassUndecryptableReasoning)
	if got, _ := Decide(Situation{Failure: sealed, Repairs: []onceward.Repair{onceward.RepairStripIDs}}); got != StepRepair {
		t.Errorf("reasoning that cannot be read after strip_ids: %s", got)
	}
	r := &Run{attempts: []onceward.AttemptRecord{{Repair: onceward.RepairStripIDs}}}
	if got := r.repairs(&turnState{}); !slices.Contains(got, onceward.RepairStripIDs) {
		t.Errorf("the repair of an earlier turn is not among %v", got)
	}
}

func TestNoRouteForLackOfMoneyIsTheBudgetsEnd(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dear := onceward.Dropped{Resource: "a", Model: "m", Step: "price", Reason: "may cost 0.040000 USD, 0.030000 left"}
	off := onceward.Dropped{Resource: "b", Model: "m", Step: "disabled", Reason: "no credits"}
	for name, c := range map[string]struct {
		decision onceward.Decision
		want     string
	}{
		"the only route is too dear":            {onceward.Decision{Dropped: []onceward.Dropped{off, dear}}, "cost_usd: a/m may cost 0.040000 USD, 0.030000 left"},
		"another comes back in time":            {onceward.Decision{Dropped: []onceward.Dropped{off, dear}, RetryAt: now.Add(-time.Second)}, ""},
		"another comes back after the deadline": {onceward.Decision{Dropped: []onceward.Dropped{dear}, RetryAt: now.Add(time.Second)}, "cost_usd: a/m may cost 0.040000 USD, 0.030000 left"},
		"nothing was dropped for its price":     {onceward.Decision{Dropped: []onceward.Dropped{off}}, ""},
		"nothing was there at all":              {onceward.Decision{}, ""},
	} {
		if got := unaffordable(c.decision, now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestExclude(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	route := onceward.Route{Resource: "a", Model: "m"}
	throttled := failure(onceward.ClassRateLimited)
	throttled.RetryAfter = 40 * time.Second
	long := failure(onceward.ClassRateLimited)
	long.RetryAfter = 24 * time.Hour
	for name, c := range map[string]struct {
		failure onceward.Failure
		again   int
		pinned  bool
		want    onceward.ExcludedRoute
		none    bool
	}{
		"billing excludes the resource for the run":  {failure: failure(onceward.ClassBilling), again: 1, want: onceward.ExcludedRoute{Resource: "a", Class: onceward.ClassBilling, Turn: 2}},
		"model unavailable excludes the pair":        {failure: failure(onceward.ClassModelUnavailable), again: 1, want: onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassModelUnavailable, Turn: 2}},
		"a server error pauses it in this turn":      {failure: failure(onceward.ClassServerError), again: 1, want: onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassServerError, Turn: 2, Soft: true, Until: now.Add(firstBackoff)}},
		"the third error pauses it longer":           {failure: failure(onceward.ClassServerError), again: 3, want: onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassServerError, Turn: 2, Soft: true, Until: now.Add(4 * firstBackoff)}},
		"the ninth error no longer than that":        {failure: failure(onceward.ClassServerError), again: 9, want: onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassServerError, Turn: 2, Soft: true, Until: now.Add(lastBackoff)}},
		"but an owner is paused for longer":          {failure: failure(onceward.ClassServerError), again: 9, pinned: true, want: onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassServerError, Turn: 2, Soft: true, Until: now.Add(256 * firstBackoff)}},
		"and for five minutes at most":               {failure: failure(onceward.ClassServerError), again: 99, pinned: true, want: onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassServerError, Turn: 2, Soft: true, Until: now.Add(maxWindow)}},
		"retry-after is a floor":                     {failure: throttled, again: 1, want: onceward.ExcludedRoute{Resource: "a", Class: onceward.ClassRateLimited, Turn: 2, Soft: true, Until: now.Add(40 * time.Second)}},
		"a day of retry-after is probed sooner":      {failure: long, again: 1, want: onceward.ExcludedRoute{Resource: "a", Class: onceward.ClassRateLimited, Turn: 2, Soft: true, Until: now.Add(maxWindow)}},
		"not sent excludes nothing":                  {failure: *onceward.NotSentFailure(onceward.ClassServerError, ""), again: 1, none: true},
		"what it cannot carry, it never can":         {failure: *onceward.NotSentFailure(onceward.ClassUnsupportedCapability, ""), again: 1, want: onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassUnsupportedCapability, Turn: 2}},
		"state that another request holds is paused": {failure: failure(onceward.ClassStateConflict), again: 1, want: onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassStateConflict, Turn: 2, Soft: true, Until: now.Add(firstBackoff)}},
		"worker lost excludes nothing":               {failure: failure(onceward.ClassWorkerLost), again: 1, none: true},
	} {
		got, ok := Exclude(route, c.failure, 2, c.again, c.pinned, now)
		if ok == c.none || ok && got != c.want {
			t.Errorf("%s: %+v (%v), want %+v", name, got, ok, c.want)
		}
	}
}
