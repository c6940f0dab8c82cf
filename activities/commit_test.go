package activities

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/onceward/onceward"
)

type shop struct {
	calls   []string
	find    []func() (onceward.Receipt, error) // one a call, the last for ever
	commit  func(ctx context.Context) (onceward.Receipt, error)
	keySeen string
}

type buyArgs struct {
	Item string `json:"item"`
}

func (s *shop) Buy(ctx context.Context, a onceward.Action, _ buyArgs) (onceward.Receipt, error) {
	s.calls, s.keySeen = append(s.calls, "commit"), a.Key
	if s.commit != nil {
		return s.commit(ctx)
	}
	return onceward.Committed("b1"), nil
}

func (s *shop) Find(context.Context, onceward.Action, buyArgs) (onceward.Receipt, error) {
	s.calls = append(s.calls, "find")
	if len(s.find) == 0 {
		return onceward.Absent(), nil
	}
	f := s.find[0]
	if len(s.find) > 1 {
		s.find = s.find[1:]
	}
	return f()
}

func says(r onceward.Receipt, err error) func() (onceward.Receipt, error) {
	return func() (onceward.Receipt, error) { return r, err }
}

func buyID(in buyArgs) onceward.ActionID { return onceward.ActionID("buy/" + in.Item) }

func buyTool(t *testing.T, s *shop) Tool {
	t.Helper()
	b, err := onceward.Write(onceward.Spec{Name: "buy"}, buyID, (*shop).Buy, (*shop).Find).Bind(s)
	if err != nil {
		t.Fatal(err)
	}
	return Tool{Bound: b}
}

// testRun is the run id that the SDK's activity test environment gives.
func testRun(t *testing.T) string {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	id := func(ctx context.Context) (string, error) { return activity.GetInfo(ctx).WorkflowExecution.RunID, nil }
	env.RegisterActivity(id)
	value, err := env.ExecuteActivity(id)
	if err != nil {
		t.Fatal(err)
	}
	var run string
	if err := value.Get(&run); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestCommitReadsThenGuardsThenCommits(t *testing.T) {
	own := testRun(t)
	for name, c := range map[string]struct {
		shop   shop
		change func(*onceward.CommitInput)
		want   onceward.CommitResult
		calls  string
		fails  string
	}{
		"nothing there yet": {
			want: onceward.CommitResult{Receipt: onceward.Committed("b1"), VerifiedBy: onceward.VerifiedByResponse, Sent: true}, calls: "find commit",
		},
		"the read finds it": {
			shop: shop{find: []func() (onceward.Receipt, error){says(onceward.Committed("b0"), nil)}},
			want: onceward.CommitResult{Receipt: onceward.Committed("b0"), VerifiedBy: onceward.VerifiedByRead}, calls: "find",
		},
		"the read fails": {
			shop: shop{find: []func() (onceward.Receipt, error){says(onceward.Receipt{}, errors.New("down"))}},
			want: onceward.CommitResult{NotSent: onceward.NotSentReadFailed, Detail: "down"}, calls: "find",
		},
		"the read fails after a reset": {
			shop:   shop{find: []func() (onceward.Receipt, error){says(onceward.Receipt{}, errors.New("down"))}},
			change: func(in *onceward.CommitInput) { in.OriginalRunID = "another" },
			want:   onceward.CommitResult{NotSent: onceward.NotSentReset, Detail: "down"}, calls: "find",
		},
		"scheduled by another run": {
			change: func(in *onceward.CommitInput) { in.RunID = "another" },
			want:   onceward.CommitResult{NotSent: onceward.NotSentReset}, calls: "find",
		},
		"the run was made by a reset": {
			change: func(in *onceward.CommitInput) { in.OriginalRunID = "another" },
			want:   onceward.CommitResult{NotSent: onceward.NotSentReset}, calls: "find",
		},
		"a reset run still adopts what is there": {
			shop:   shop{find: []func() (onceward.Receipt, error){says(onceward.Committed("b0"), nil)}},
			change: func(in *onceward.CommitInput) { in.OriginalRunID = "another" },
			want:   onceward.CommitResult{Receipt: onceward.Committed("b0"), VerifiedBy: onceward.VerifiedByRead}, calls: "find",
		},
		"E36 the product answers with a conflict": {
			shop: shop{commit: func(context.Context) (onceward.Receipt, error) { return onceward.Conflict("another body"), nil }},
			want: onceward.CommitResult{Receipt: onceward.Conflict("another body"), VerifiedBy: onceward.VerifiedByResponse, Sent: true}, calls: "find commit",
		},
		"E36 the read finds a conflict: nothing is sent": {
			shop: shop{find: []func() (onceward.Receipt, error){says(onceward.Conflict("another body"), nil)}},
			want: onceward.CommitResult{Receipt: onceward.Conflict("another body"), VerifiedBy: onceward.VerifiedByRead}, calls: "find",
		},
		"E36 a reset run that finds a conflict first waits for what may be on its way": {
			shop:   shop{find: []func() (onceward.Receipt, error){says(onceward.Conflict("another body"), nil)}},
			change: func(in *onceward.CommitInput) { in.OriginalRunID = "another" },
			want:   onceward.CommitResult{NotSent: onceward.NotSentReset}, calls: "find",
		},
		"the lease has ended": {
			change: func(in *onceward.CommitInput) { in.Action.NotAfter = time.Now().Add(-time.Millisecond) },
			want:   onceward.CommitResult{NotSent: onceward.NotSentLease}, calls: "find",
		},
		"a business no": {
			shop: shop{commit: func(context.Context) (onceward.Receipt, error) { return onceward.Rejected("sold out"), nil }},
			want: onceward.CommitResult{Receipt: onceward.Rejected("sold out"), VerifiedBy: onceward.VerifiedByResponse, Sent: true}, calls: "find commit",
		},
		"no answer": {
			shop: shop{commit: func(context.Context) (onceward.Receipt, error) {
				return onceward.Receipt{}, errors.New("reset by peer")
			}},
			fails: onceward.ErrorCommitUnclear, calls: "find commit",
		},
		"the product says it does not know": {
			shop: shop{commit: func(context.Context) (onceward.Receipt, error) {
				return onceward.Receipt{Status: onceward.StatusUnknown, Reason: "409 in progress"}, nil
			}},
			fails: onceward.ErrorCommitUnclear, calls: "find commit",
		},
		"a receipt that says nothing is unclear": {
			shop:  shop{commit: func(context.Context) (onceward.Receipt, error) { return onceward.Receipt{}, nil }},
			fails: onceward.ErrorCommitUnclear, calls: "find commit",
		},
		"verified by a read": {
			shop:   shop{find: []func() (onceward.Receipt, error){says(onceward.Absent(), nil), says(onceward.Committed("b1"), nil)}},
			change: func(in *onceward.CommitInput) { in.VerifyByRead = true },
			want:   onceward.CommitResult{Receipt: onceward.Committed("b1"), VerifiedBy: onceward.VerifiedByRead, Sent: true}, calls: "find commit find",
		},
		"the verifying read lags": {
			change: func(in *onceward.CommitInput) { in.VerifyByRead = true },
			want:   onceward.CommitResult{Receipt: onceward.Committed("b1"), VerifiedBy: onceward.VerifiedByResponse, Sent: true}, calls: "find commit find",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.shop
			in := onceward.CommitInput{
				Action: onceward.Action{ID: "buy/1", Key: "k", NotAfter: time.Now().Add(time.Minute)},
				Args:   []byte(`{"item":"1"}`), RunID: own, OriginalRunID: own,
			}
			if c.change != nil {
				c.change(&in)
			}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			commit := CommitFunc(buyTool(t, &s))
			env.RegisterActivityWithOptions(commit, activity.RegisterOptions{Name: "commit"})
			value, err := env.ExecuteActivity("commit", in)
			if got := strings.Join(s.calls, " "); got != c.calls {
				t.Errorf("calls %q, want %q", got, c.calls)
			}
			if c.fails != "" {
				var application *temporal.ApplicationError
				if !errors.As(err, &application) || application.Type() != c.fails || !application.NonRetryable() {
					t.Fatalf("error %v, want a final %s", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got onceward.CommitResult
			if err := value.Get(&got); err != nil {
				t.Fatal(err)
			}
			if c.want.Detail == "" {
				got.Detail = ""
			}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestCommitsContextEndsWithTheLease(t *testing.T) {
	own := testRun(t)
	notAfter := time.Now().Add(time.Hour)
	var deadline time.Time
	var bounded bool
	s := &shop{commit: func(ctx context.Context) (onceward.Receipt, error) {
		deadline, bounded = ctx.Deadline()
		return onceward.Committed("b1"), nil
	}}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(CommitFunc(buyTool(t, s)), activity.RegisterOptions{Name: "commit"})
	_, err := env.ExecuteActivity("commit", onceward.CommitInput{
		Action: onceward.Action{ID: "buy/1", NotAfter: notAfter}, Args: []byte(`{"item":"1"}`), RunID: own, OriginalRunID: own,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bounded || deadline.After(notAfter) {
		t.Errorf("the commit's context ends at %s (%v), the lease at %s", deadline, bounded, notAfter)
	}
}

// A worker has had the activity before, although it is scheduled once: whatever
// was sent then, nothing is sent now.
func TestCommitThatWasBegunBeforeSendsNothing(t *testing.T) {
	own := testRun(t)
	for name, c := range map[string]struct {
		find  func() (onceward.Receipt, error)
		fails bool
	}{
		"and the read finds nothing":        {says(onceward.Absent(), nil), true},
		"and the read fails":                {says(onceward.Receipt{}, errors.New("down")), true},
		"E36 and the read finds a conflict": {says(onceward.Conflict("another body"), nil), true},
		"and the read finds it":             {says(onceward.Committed("b0"), nil), false},
	} {
		s := &shop{find: []func() (onceward.Receipt, error){c.find}}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetHeartbeatDetails("buy/1")
		env.RegisterActivityWithOptions(CommitFunc(buyTool(t, s)), activity.RegisterOptions{Name: "commit"})
		value, err := env.ExecuteActivity("commit", onceward.CommitInput{
			Action: onceward.Action{ID: "buy/1", NotAfter: time.Now().Add(time.Minute)}, Args: []byte(`{"item":"1"}`), RunID: own, OriginalRunID: own,
		})
		if got := strings.Join(s.calls, " "); got != "find" {
			t.Errorf("%s: calls %q, want a read alone", name, got)
		}
		var application *temporal.ApplicationError
		if unclear := errors.As(err, &application) && application.Type() == onceward.ErrorCommitUnclear; unclear != c.fails {
			t.Errorf("%s: error %v, want that the outcome is unclear: %v", name, err, c.fails)
		}
		if c.fails {
			continue
		}
		var got onceward.CommitResult
		if err := value.Get(&got); err != nil || got.Receipt.Ref != "b0" || !got.Sent {
			t.Errorf("%s: %+v %v, want what the read found, and that a commit was sent", name, got, err)
		}
	}
}

func TestReadTellsOfAReset(t *testing.T) {
	own := testRun(t)
	down := says(onceward.Receipt{}, errors.New("down"))
	for name, c := range map[string]struct {
		find     func() (onceward.Receipt, error)
		run      string
		original string
		want     onceward.CommitResult
		fails    bool
	}{
		"none":                                {find: says(onceward.Absent(), nil), run: own, original: own, want: onceward.CommitResult{Receipt: onceward.Absent(), VerifiedBy: onceward.VerifiedByRead}},
		"none, and the read fails":            {find: down, run: own, original: own, fails: true},
		"one":                                 {find: says(onceward.Absent(), nil), run: own, original: "another", want: onceward.CommitResult{Receipt: onceward.Absent(), VerifiedBy: onceward.VerifiedByRead, NotSent: onceward.NotSentReset}},
		"one, and the read fails":             {find: down, run: own, original: "another", want: onceward.CommitResult{NotSent: onceward.NotSentReset, Detail: "down"}},
		"nobody knows, from an earlier build": {find: says(onceward.Absent(), nil), want: onceward.CommitResult{Receipt: onceward.Absent(), VerifiedBy: onceward.VerifiedByRead}},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.RegisterActivityWithOptions(FindFunc(buyTool(t, &shop{find: []func() (onceward.Receipt, error){c.find}})), activity.RegisterOptions{Name: "find"})
		value, err := env.ExecuteActivity("find", onceward.CommitInput{Action: onceward.Action{ID: "buy/1"}, Args: []byte(`{"item":"1"}`), RunID: c.run, OriginalRunID: c.original})
		if (err != nil) != c.fails {
			t.Fatalf("%s: %v", name, err)
		}
		if c.fails {
			continue
		}
		var got onceward.CommitResult
		if err := value.Get(&got); err != nil {
			t.Fatal(err)
		}
		if c.want.Detail == "" {
			got.Detail = ""
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// E35: what an action of a newer release has scheduled is carried out by no older
// worker: without what that cannot read it might be another effect.
func TestCommitOfANewerReleaseTouchesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		find   bool
		begun  bool
		change int
		fails  string
		calls  string
	}{
		"E35 a commit":                        {change: 1, fails: onceward.ErrorNotRegistered},
		"E35 a read":                          {find: true, change: 1, fails: onceward.ErrorNotRegistered},
		"E35 a commit that was begun before":  {begun: true, change: 1, fails: onceward.ErrorCommitUnclear},
		"E35 a commit of this release":        {calls: "find commit"},
		"E35 a commit of the one before":      {change: -1, calls: "find commit"},
		"E35 a commit of an earlier build":    {change: -onceward.ManifestVersion, calls: "find commit"},
		"E35 a read of the release before it": {find: true, change: -1, calls: "find"},
	} {
		s := &shop{}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		if c.begun {
			env.SetHeartbeatDetails("buy/1")
		}
		fn := CommitFunc(buyTool(t, s))
		if c.find {
			fn = FindFunc(buyTool(t, s))
		}
		env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: "act"})
		_, err := env.ExecuteActivity("act", onceward.CommitInput{
			Action: onceward.Action{ID: "buy/1", NotAfter: time.Now().Add(time.Minute)}, Args: []byte(`{"item":"1"}`), Version: onceward.ManifestVersion + c.change,
		})
		var application *temporal.ApplicationError
		got := ""
		if errors.As(err, &application) {
			got = application.Type()
		}
		if got != c.fails || (err != nil) != (c.fails != "") {
			t.Errorf("%s: %v of type %q, want %q", name, err, got, c.fails)
		}
		if got := strings.Join(s.calls, " "); got != c.calls {
			t.Errorf("%s: calls %q, want %q", name, got, c.calls)
		}
	}
}
