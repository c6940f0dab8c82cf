package workflows

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// poolPlay is a pool that confirms, of one service with the resource a at the address
// here, in which things happen at their times.
type poolPlay struct {
	t      *testing.T
	env    *testsuite.TestWorkflowEnvironment
	mu     sync.Mutex // of inputs and at
	inputs []onceward.TestInput
	at     []time.Time
	answer func(n int, in onceward.TestInput) (onceward.PoolTest, error)
	input  onceward.PoolInput
	begun  time.Time
}

func newPoolPlay(t *testing.T, answer func(n int, in onceward.TestInput) (onceward.PoolTest, error)) *poolPlay {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	p := &poolPlay{t: t, env: suite.NewTestWorkflowEnvironment(), answer: answer}
	patient(p.env)
	p.begun = p.env.Now()
	p.input = onceward.PoolInput{Version: onceward.PoolVersion, Pool: "shared", Services: []onceward.PoolRoutes{service("one", "here")}}
	p.env.RegisterActivityWithOptions(func(_ context.Context, in onceward.TestInput) (onceward.PoolTest, error) {
		p.mu.Lock() // tests of two routes run side by side
		p.inputs, p.at = append(p.inputs, in), append(p.at, p.env.Now())
		n := len(p.inputs)
		p.mu.Unlock()
		return p.answer(n, in)
	}, activity.RegisterOptions{Name: onceward.ActivityTestResource})
	return p
}

func (p *poolPlay) after(d time.Duration, do func()) { p.env.RegisterDelayedCallback(do, d) }

func (p *poolPlay) health() onceward.PoolHealth {
	p.t.Helper()
	answer, err := p.env.QueryWorkflow(onceward.QueryHealth)
	if err != nil {
		p.t.Fatal(err)
	}
	var h onceward.PoolHealth
	if err := answer.Get(&h); err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *poolPlay) report(by string) {
	p.env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{
		Resource: "a", Model: "m", Endpoint: "here", Class: onceward.ClassPermission, Reason: "a caller's word", At: p.env.Now(), By: by, Limit: 200,
	})
}

func (p *poolPlay) update(name string, c onceward.PoolChange, done func(any, error)) {
	p.env.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: func(err error) { done(nil, err) }, OnComplete: done}, c)
}

// run plays until the end, and returns what the Pool ended with.
func (p *poolPlay) run(end time.Duration) error {
	p.after(end, p.env.CancelWorkflow)
	p.env.ExecuteWorkflow(Pool, p.input)
	return p.env.GetWorkflowError()
}

func dataOf(next *workflow.ContinueAsNewError, to any) error {
	return converter.GetDefaultDataConverter().FromPayloads(next.Input, to)
}

func says(verdict onceward.Verdict, class onceward.Class) func(int, onceward.TestInput) (onceward.PoolTest, error) {
	return func(int, onceward.TestInput) (onceward.PoolTest, error) {
		return onceward.PoolTest{Verdict: verdict, Class: class, Error: "its own words", RetryAfter: 0, InputTokens: 21, OutputTokens: 4, By: "w2"}, nil
	}
}

func TestReportDisablesOnlyWhatAnotherWorkersTestConfirms(t *testing.T) {
	for name, c := range map[string]struct {
		verdict                   onceward.Verdict
		class                     onceward.Class
		reported, alone, disabled int
	}{
		"it fails for a class that disables":   {onceward.VerdictFailed, onceward.ClassBilling, 0, 0, 1},
		"it fails for the deployment":          {onceward.VerdictFailed, onceward.ClassModelUnavailable, 0, 0, 1},
		"it passes":                            {onceward.VerdictPassed, "", 0, 1, 0},
		"it fails for what is each worker's":   {onceward.VerdictFailed, onceward.ClassServerError, 1, 0, 0},
		"it is throttled":                      {onceward.VerdictThrottled, onceward.ClassRateLimited, 1, 0, 0},
		"it is unclear":                        {onceward.VerdictUnclear, "", 1, 0, 0},
		"it is unclear with a class that does": {onceward.VerdictUnclear, onceward.ClassBilling, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPoolPlay(t, says(c.verdict, c.class))
			p.after(time.Second, func() { p.report("w1") })
			p.after(3*time.Second, func() {
				h := p.health()
				if len(h.Reported) != c.reported || len(h.Alone) != c.alone || len(h.Disabled) != c.disabled {
					t.Fatalf("the record is %+v", h)
				}
				if in := p.inputs; len(in) != 1 || in[0].NotBy != "w1" || in[0].Limit != 200 || in[0].Model != "m" || in[0].Endpoint != "here" {
					t.Errorf("tested with %+v, want one test by another at the report's limit", in)
				}
				if test := h.Tests[0]; test.Verdict != c.verdict || test.Passed != (c.verdict == onceward.VerdictPassed) || test.By != "w2" || test.InputTokens != 21 || test.At.IsZero() || test.Endpoint != "here" {
					t.Errorf("the test is kept as %+v", test)
				}
				for _, d := range h.Disabled {
					if d.Class != c.class || d.Reason != "its own words" || d.Limit != 200 || d.By != "" {
						t.Errorf("disabled as %+v, want the test's own class and words", d)
					}
					if window := c.class.Rule().Window; window > 0 != !d.Until.IsZero() {
						t.Errorf("disabled until %v, the class's window is %s", d.Until, window)
					}
				}
				for _, f := range h.Alone {
					if f.By != "w1" || f.Test == nil || f.Test.By != "w2" || !f.Test.Passed {
						t.Errorf("alone as %+v, want who, and the test that did not confirm it", f)
					}
				}
				if len(h.Enabled) != 0 {
					t.Errorf("enabled %+v: who found it would give it up", h.Enabled)
				}
			})
			_ = p.run(5 * time.Second)
		})
	}
}

// A release that was taken back has workers that report a whole resource, without their
// name or an address: a test convicts the pair that it asked.
func TestReportOfAnOlderWorkerConvictsThePairThatWasTested(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, onceward.ClassBilling))
	p.input.Services[0].Routes[0].Models = []string{"m", "n"}
	p.after(time.Second, func() {
		for _, endpoint := range []string{"", "here"} {
			p.env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{Resource: "a", Endpoint: endpoint, Class: onceward.ClassBilling, Reason: "a caller's word", At: p.env.Now()})
		}
	})
	p.after(5*time.Second, func() {
		h := p.health()
		if len(h.Disabled) != 1 || h.Disabled[0].Model != "m" || h.Disabled[0].Endpoint != "here" || len(h.Reported) != 0 || len(p.inputs) != 1 {
			t.Errorf("after %d tests the record is %+v", len(p.inputs), h)
		}
	})
	_ = p.run(10 * time.Second)
}

func TestReportsOfOnePairShareItsTest(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, onceward.ClassBilling))
	p.after(time.Second, func() {
		for i := range 20 {
			p.report("w" + string(rune('a'+i)))
		}
	})
	p.after(2*time.Second, func() { p.report("late") })
	p.after(time.Minute-time.Second, func() {
		if h := p.health(); len(p.inputs) != 1 || len(h.Disabled) != 1 || len(h.Reported)+len(h.Alone) != 0 {
			t.Errorf("%d tests, the record is %+v; want one test and one entry", len(p.inputs), h)
		}
	})
	_ = p.run(time.Minute)
}

func TestUnansweredReportIsTestedAgainEverMoreRarely(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictUnclear, ""))
	p.after(time.Second, func() { p.report("w1") })
	p.after(30*time.Minute, func() {
		var pauses []time.Duration
		for i := 1; i < len(p.at); i++ {
			pauses = append(pauses, p.at[i].Sub(p.at[i-1]).Round(time.Second))
		}
		want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, findingMost, findingMost}
		if len(pauses) < len(want) || !slices.Equal(pauses[:len(want)], want) {
			t.Errorf("tested after %v, want %v", pauses, want)
		}
	})
	p.after(2*time.Hour, func() {
		if h := p.health(); len(h.Reported) != 0 {
			t.Errorf("still reported after two hours in which nobody told it: %+v", h.Reported)
		}
	})
	_ = p.run(2*time.Hour + time.Minute)
}

func TestFindingThatIsToldAgainIsKept(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictPassed, ""))
	at := p.env.Now()
	tell := func() {
		p.env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{Resource: "a", Model: "m", Endpoint: "here", Class: onceward.ClassBilling, At: at, By: "w1"})
	}
	for _, after := range []time.Duration{time.Second, 50 * time.Minute} {
		p.after(after, tell)
	}
	p.after(100*time.Minute, func() {
		if h := p.health(); len(h.Alone) != 1 || len(p.inputs) != 1 {
			t.Errorf("alone %+v after %d tests, want it kept without another", h.Alone, len(p.inputs))
		}
	})
	p.after(115*time.Minute, func() {
		if h := p.health(); len(h.Alone) != 0 {
			t.Errorf("its worker is gone, and it is still alone: %+v", h.Alone)
		}
	})
	_ = p.run(2 * time.Hour)
}

func TestTwoWorkersThatFindTheSameDisableIt(t *testing.T) {
	verdict := onceward.VerdictPassed
	p := newPoolPlay(t, func(int, onceward.TestInput) (onceward.PoolTest, error) {
		return onceward.PoolTest{Verdict: verdict, Class: onceward.ClassBilling, Error: "402", By: "w1"}, nil
	})
	p.after(time.Second, func() { p.report("w2") })
	p.after(time.Minute, func() {
		if h := p.health(); len(h.Alone) != 1 || h.Alone[0].By != "w2" {
			t.Errorf("the record is %+v, want w2 alone", h)
		}
		verdict = onceward.VerdictFailed
		p.report("w3")
	})
	p.after(2*time.Minute, func() {
		if h := p.health(); len(h.Disabled) != 1 || len(h.Alone) != 0 {
			t.Errorf("the record is %+v, want it disabled", h)
		}
	})
	_ = p.run(3 * time.Minute)
}

func TestNeutralRequestsAreAddedUpForKnownRoutes(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictPassed, ""))
	var found time.Time
	p.after(time.Second, func() { found = p.env.Now(); p.report("w1"); p.report("w3") })
	count := func(model, unusable string, passed int) onceward.NeutralCount {
		return onceward.NeutralCount{Resource: "a", Model: model, Endpoint: "here", Passed: passed, InputTokens: 20 * passed, Unusable: unusable, Last: p.env.Now()}
	}
	p.after(time.Minute, func() {
		p.env.SignalWorkflow(onceward.SignalNeutral, onceward.NeutralReport{By: "w1", Pairs: []onceward.NeutralCount{count("m", "unclear", 3), count("nobody's", "", 1)}})
		p.env.SignalWorkflow(onceward.SignalNeutral, onceward.NeutralReport{By: "w2", Pairs: []onceward.NeutralCount{count("m", "", 4)},
			Acquitted: []onceward.PoolAcquittal{{Resource: "a", Model: "m", Endpoint: "here", At: found}}}) // it has found nothing
		p.env.SignalWorkflow(onceward.SignalNeutral, "nonsense")
	})
	p.after(2*time.Minute, func() {
		h := p.health()
		if len(h.Neutrals) != 1 || h.Neutrals[0].Passed != 7 || h.Neutrals[0].InputTokens != 140 || h.Neutrals[0].Unusable != "" || len(h.Alone) != 2 || len(h.Refused) != 1 {
			t.Errorf("the record is %+v, want 7 requests to the one route and both findings", h)
		}
		p.env.SignalWorkflow(onceward.SignalNeutral, onceward.NeutralReport{By: "w1", Acquitted: []onceward.PoolAcquittal{{Resource: "a", Model: "m", Endpoint: "here", At: found}}})
		p.env.SignalWorkflow(onceward.SignalNeutral, onceward.NeutralReport{By: "w3", Acquitted: []onceward.PoolAcquittal{{Resource: "a", Model: "m", Endpoint: "here", At: found.Add(-time.Second)}}})
	})
	p.after(3*time.Minute, func() {
		if h := p.health(); len(h.Alone) != 1 || h.Alone[0].By != "w3" {
			t.Errorf("alone %+v, want what w3 found after it had taken another one back", h.Alone)
		}
		p.env.SignalWorkflow(onceward.SignalRoutes, onceward.PoolRoutes{Version: onceward.PoolVersion, Service: "one", Routes: []onceward.PoolRoute{{Resource: "b", Models: []string{"m"}}}})
	})
	p.after(4*time.Minute, func() {
		if h := p.health(); len(h.Neutrals)+len(h.Alone)+len(h.Tests) != 0 {
			t.Errorf("the record of a route that no service has is %+v", h)
		}
	})
	_ = p.run(5 * time.Minute)
}

func TestOperatorsTestIsOneOfItsPairAndIsKept(t *testing.T) {
	change := onceward.PoolChange{Resource: "a", Model: "m", By: "dana"}
	t.Run("an unknown route is refused with the names there are", func(t *testing.T) {
		p := newPoolPlay(t, says(onceward.VerdictPassed, ""))
		p.after(time.Second, func() {
			for _, c := range []onceward.PoolChange{{Resource: "z", By: "dana"}, {Resource: "a", Model: "n", By: "dana"}, {Resource: "a"}} {
				p.update(onceward.UpdateTest, c, func(_ any, err error) {
					if err == nil {
						t.Errorf("%+v was taken", c)
					}
				})
			}
		})
		if _ = p.run(time.Minute); len(p.inputs) != 0 {
			t.Errorf("%d tests", len(p.inputs))
		}
	})
	t.Run("it passes: what a worker found is enabled", func(t *testing.T) {
		verdict := onceward.VerdictFailed
		p := newPoolPlay(t, func(int, onceward.TestInput) (onceward.PoolTest, error) {
			return onceward.PoolTest{Verdict: verdict, Class: onceward.ClassBilling, Error: "402", By: "w2"}, nil
		})
		p.after(time.Second, func() { p.report("w1") })
		answered := 0
		p.after(2*time.Second, func() {
			verdict = onceward.VerdictPassed
			for range 2 {
				p.update(onceward.UpdateTest, change, func(result any, err error) {
					if test, ok := result.(onceward.PoolTest); err != nil || !ok || !test.Passed {
						t.Errorf("answered %+v, %v", result, err)
					}
					answered++
				})
			}
		})
		p.after(55*time.Second, func() {
			h := p.health()
			if len(h.Disabled) != 0 || len(h.Enabled) != 1 || h.Enabled[0].By != "a passed test, asked for by dana" || !h.Tests[0].Passed || answered != 2 {
				t.Errorf("%d answers, the record is %+v", answered, h)
			}
			if len(p.at) != 2 || p.at[1].Sub(p.at[0]) < testPause || p.inputs[1].Limit != 200 {
				t.Errorf("tested at %v with %+v, want twice, %s apart, with the same limit", p.at, p.inputs, testPause)
			}
		})
		_ = p.run(time.Minute)
	})
	t.Run("it passes: what one worker found alone is over", func(t *testing.T) {
		p := newPoolPlay(t, says(onceward.VerdictPassed, ""))
		p.after(time.Second, func() { p.report("w1") })
		p.after(time.Minute, func() { p.update(onceward.UpdateTest, change, func(any, error) {}) })
		p.after(2*time.Minute, func() {
			if h := p.health(); len(h.Alone) != 0 || len(h.Enabled) != 1 {
				t.Errorf("the record is %+v, want it enabled, so that w1 gives it up", h)
			}
		})
		_ = p.run(3 * time.Minute)
	})
	t.Run("an operator's decision stays, and what nobody reported is not disabled", func(t *testing.T) {
		verdict := onceward.VerdictPassed
		p := newPoolPlay(t, func(int, onceward.TestInput) (onceward.PoolTest, error) {
			return onceward.PoolTest{Verdict: verdict, Class: onceward.ClassBilling}, nil
		})
		p.after(time.Second, func() {
			p.update(onceward.UpdateDisable, onceward.PoolChange{Resource: "a", By: "lee", Reason: "wrong answers"}, func(any, error) {})
			p.report("w1") // of what nobody is to ask
			p.update(onceward.UpdateTest, change, func(any, error) {})
		})
		p.after(30*time.Second, func() { p.report("w1") })
		p.after(time.Minute, func() {
			if h := p.health(); len(h.Disabled) != 1 || h.Disabled[0].By != "lee" || len(h.Reported) != 0 || len(p.inputs) != 1 {
				t.Errorf("%d tests, the record is %+v", len(p.inputs), h)
			}
			p.update(onceward.UpdateEnable, onceward.PoolChange{Resource: "a", By: "lee"}, func(any, error) {})
			verdict = onceward.VerdictFailed
			p.update(onceward.UpdateTest, change, func(any, error) {})
		})
		p.after(2*time.Minute, func() {
			if h := p.health(); len(h.Disabled) != 0 || h.Tests[0].Verdict != onceward.VerdictFailed {
				t.Errorf("the record is %+v, want the result and nothing disabled", h)
			}
		})
		_ = p.run(3 * time.Minute)
	})
	t.Run("no worker takes it", func(t *testing.T) {
		p := newPoolPlay(t, func(int, onceward.TestInput) (onceward.PoolTest, error) {
			return onceward.PoolTest{}, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		})
		answered := false
		p.after(time.Second, func() {
			p.update(onceward.UpdateTest, change, func(_ any, err error) { answered = err != nil })
		})
		if _ = p.run(10 * time.Minute); !answered {
			t.Error("the operator was told nothing")
		}
	})
}

func TestTestGoesToAnotherServiceWhereNoWorkerOfTheFirstTakesIt(t *testing.T) {
	var queues []string
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	patient(env)
	env.RegisterActivityWithOptions(func(ctx context.Context, _ onceward.TestInput) (onceward.PoolTest, error) {
		queue := activity.GetInfo(ctx).TaskQueue
		if queues = append(queues, queue); queue == "two" {
			return onceward.PoolTest{}, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		}
		return onceward.PoolTest{Verdict: onceward.VerdictFailed, Class: onceward.ClassBilling}, nil
	}, activity.RegisterOptions{Name: onceward.ActivityTestResource})
	p := &poolPlay{t: t, env: env}
	p.input = onceward.PoolInput{Version: onceward.PoolVersion, Pool: "shared", Services: []onceward.PoolRoutes{service("one", "here"), service("two", "here"), service("three", "there")}}
	p.after(time.Second, func() { p.report("w1") })
	p.after(5*time.Minute, func() {
		if h := p.health(); len(h.Disabled) != 1 || slices.Contains(queues, "three") || queues[len(queues)-1] != "one" {
			t.Errorf("asked %v, the record is %+v", queues, h)
		}
	})
	_ = p.run(6 * time.Minute)
}

func TestDisabledRouteIsTestedAgainInTheWordsOfItsLastTest(t *testing.T) {
	p := newPoolPlay(t, func(n int, in onceward.TestInput) (onceward.PoolTest, error) {
		if n == 1 && in.NotBy != "" {
			t.Errorf("a test of what is disabled already is anybody's: %+v", in)
		}
		answers := []onceward.PoolTest{
			{Verdict: onceward.VerdictThrottled, Class: onceward.ClassRateLimited},
			{Verdict: onceward.VerdictUnclear},
			{Verdict: onceward.VerdictFailed, Class: onceward.ClassBilling, Error: "402"},
			{Class: onceward.ClassAuthentication, Error: "of an earlier build"},
			{Passed: true}, // so is this
		}
		return answers[min(n, len(answers))-1], nil
	})
	old := onceward.Disabled{Resource: "a", Class: onceward.ClassPermission, Reason: "a caller's word", Since: p.env.Now(), NextTest: p.env.Now().Add(time.Minute)}
	p.input.Version, p.input.Health.Disabled = onceward.PoolVersion, []onceward.Disabled{old}
	var reasons []string
	for _, after := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute} {
		p.after(after, func() {
			for _, d := range p.health().Disabled {
				reasons = append(reasons, d.Reason)
			}
		})
	}
	p.after(time.Hour, func() {
		if h := p.health(); len(h.Disabled) != 0 || len(p.inputs) != 5 || h.Enabled[0].Model != "" {
			t.Errorf("%d tests, the record is %+v", len(p.inputs), h)
		}
		if want := []string{"a caller's word", "a caller's word", "402", "of an earlier build"}; !slices.Equal(reasons, want) {
			t.Errorf("the reasons were %q, want %q", reasons, want)
		}
	})
	_ = p.run(time.Hour + time.Minute)
}

func TestSlowTestHoldsNothingUp(t *testing.T) {
	p := newPoolPlay(t, nil)
	p.answer = func(int, onceward.TestInput) (onceward.PoolTest, error) {
		return onceward.PoolTest{}, activity.ErrResultPending
	}
	p.input.Services[0].Routes = append(p.input.Services[0].Routes, onceward.PoolRoute{Resource: "b", Endpoint: "here", Models: []string{"m"}})
	p.after(time.Second, func() { p.report("w1") })
	p.after(2*time.Second, func() {
		p.env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{Resource: "b", Model: "m", Endpoint: "here", Class: onceward.ClassBilling, At: p.env.Now(), By: "w1"})
		p.env.SetContinueAsNewSuggested(true)
	})
	p.after(10*time.Second, func() {
		if h := p.health(); len(h.Reported) != 2 || len(p.inputs) != 1 {
			t.Errorf("while a test is in flight and it wants to leave: %d tests, the record is %+v", len(p.inputs), h)
		}
	})
	var next *workflow.ContinueAsNewError
	if err := p.run(20 * time.Second); errors.As(err, &next) {
		t.Error("it left a test in flight behind")
	}
	p = newPoolPlay(t, p.answer)
	p.input.Services[0].Routes = append(p.input.Services[0].Routes, onceward.PoolRoute{Resource: "b", Endpoint: "here", Models: []string{"m"}})
	p.after(time.Second, func() { p.report("w1") })
	p.after(2*time.Second, func() {
		p.env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{Resource: "b", Model: "m", Endpoint: "here", Class: onceward.ClassBilling, At: p.env.Now(), By: "w1"})
		p.update(onceward.UpdateDisable, onceward.PoolChange{Resource: "a", By: "lee", Reason: "x"}, func(any, error) {})
	})
	p.after(10*time.Second, func() {
		if h := p.health(); len(h.Disabled) != 1 || len(h.Reported) != 1 || h.Reported[0].Resource != "b" || len(p.inputs) != 2 {
			t.Errorf("while two tests are in flight: %d tests, the record is %+v", len(p.inputs), h)
		}
	})
	_ = p.run(20 * time.Second)
}

func TestPoolLeavesWithReportsAndWithoutTestsInFlight(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictUnclear, ""))
	p.after(time.Second, func() { p.report("w1") })
	p.after(5*time.Second, func() { p.env.SetContinueAsNewSuggested(true); p.report("w2") })
	err := p.run(time.Hour)
	var next *workflow.ContinueAsNewError
	if !errors.As(err, &next) {
		t.Fatalf("%v, want it to continue as new", err)
	}
	var in onceward.PoolInput
	if err := dataOf(next, &in); err != nil || in.Version != onceward.PoolVersion || len(in.Health.Reported) != 2 || in.Health.Reported[1].By != "w2" || in.Health.Reported[1].NextTest.IsZero() || len(p.inputs) != 1 {
		t.Errorf("%d tests, carried %+v, %v", len(p.inputs), in, err)
	}
}

// An execution of an earlier build goes on as it began, until a worker of this one
// tells its routes.
func TestOlderPoolDisablesAtOnceUntilAWorkerOfThisBuildComes(t *testing.T) {
	for _, version := range []int{0, 1} {
		p := newPoolPlay(t, says(onceward.VerdictUnclear, ""))
		p.input.Version = version
		p.after(time.Second, func() { p.report("") })
		p.after(2*time.Second, func() { p.env.SignalWorkflow(onceward.SignalRoutes, service("one", "here")) })
		p.after(3*time.Second, func() {
			if h := p.health(); len(h.Disabled) != 1 || h.Disabled[0].Class != onceward.ClassPermission || len(p.inputs) != 0 {
				t.Errorf("version %d: the record is %+v, want it disabled by the report", version, h)
			}
			routes := service("one", "here")
			routes.Version = onceward.PoolVersion
			p.env.SignalWorkflow(onceward.SignalRoutes, routes)
		})
		err := p.run(time.Hour)
		var next *workflow.ContinueAsNewError
		var in onceward.PoolInput
		if !errors.As(err, &next) || dataOf(next, &in) != nil || in.Version != onceward.PoolVersion || len(in.Health.Disabled) != 1 || len(in.Services) != 1 {
			t.Errorf("version %d: %v with %+v, want it to begin anew with its record", version, err, in)
		}
	}
}

func TestWorkerThatConfirmsItselfIsNoOther(t *testing.T) {
	by, verdict := "host/1/w", onceward.VerdictPassed
	p := newPoolPlay(t, func(int, onceward.TestInput) (onceward.PoolTest, error) {
		return onceward.PoolTest{Verdict: verdict, Class: onceward.ClassBilling, By: by}, nil
	})
	test := func() {
		p.update(onceward.UpdateTest, onceward.PoolChange{Resource: "a", Model: "m", By: "dana"}, func(any, error) {})
	}
	p.after(time.Second, func() { p.report("host/1/w") })
	p.after(time.Minute, func() {
		if h := p.health(); len(h.Reported)+len(h.Alone) != 0 {
			t.Errorf("it passed its own test, and the record is %+v", h)
		}
		by = "other/1/w"
		p.report("host/1/w")
	})
	p.after(2*time.Minute, func() { by, verdict = "host/2/after", onceward.VerdictFailed; test() })
	p.after(3*time.Minute, func() {
		if h := p.health(); len(h.Alone) != 1 || len(h.Disabled) != 0 {
			t.Errorf("it was started again, failed once more, and the record is %+v", h)
		}
		by = "other/1/w"
		test()
	})
	p.after(4*time.Minute, func() {
		if h := p.health(); len(h.Alone) != 0 || len(h.Disabled) != 1 {
			t.Errorf("another failed too, and the record is %+v", h)
		}
	})
	_ = p.run(5 * time.Minute)
}

func TestNothingIsTestedThatAnOperatorKeepsAttemptsFrom(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, onceward.ClassBilling))
	p.after(time.Second, func() { p.report("w1") })
	whole := onceward.PoolChange{Resource: "a", By: "lee", Reason: "rotation"}
	p.after(10*time.Second, func() { p.update(onceward.UpdateDisable, whole, func(any, error) {}) })
	p.after(time.Hour, func() {
		if h := p.health(); len(p.inputs) != 1 || len(h.Disabled) != 2 {
			t.Errorf("%d tests, the record is %+v", len(p.inputs), h)
		}
		p.update(onceward.UpdateEnable, whole, func(any, error) {})
	})
	p.after(time.Hour+time.Minute, func() {
		if len(p.inputs) != 2 {
			t.Errorf("%d tests, want one more as soon as it may be asked again", len(p.inputs))
		}
	})
	p.after(2*time.Hour, func() {
		p.update(onceward.UpdateDisable, onceward.PoolChange{Resource: "a", Model: "m", By: "lee", Reason: "rotation"}, func(any, error) {})
	})
	p.after(2*time.Hour+time.Minute, func() { p.report("w1") })
	p.after(3*time.Hour, func() {
		if h := p.health(); len(h.Reported) != 0 || len(h.Disabled) != 1 {
			t.Errorf("the record is %+v, want what the operator decided alone", h)
		}
	})
	_ = p.run(4 * time.Hour)
}
