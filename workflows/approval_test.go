package workflows

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/border"
)

// gatePlay is a gate in which things happen at their times. Runs that ask are running
// until the play says otherwise.
type gatePlay struct {
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	exists  bool
	stopped map[string]bool // executions
	started []onceward.ActionInput
	looks   int
	looking func() // as a look begins
	votes   []string
	denied  []onceward.Denial // by the gate before
}

// anything is how the test environment's mocks spell it.
const anything = "mock.Anything"

func newGatePlay(t *testing.T, people int) (*gatePlay, border.GateInput) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	p := &gatePlay{t: t, env: suite.NewTestWorkflowEnvironment(), stopped: map[string]bool{}}
	patient(p.env)
	p.env.RegisterActivityWithOptions(func(_ context.Context, in border.GateLook) (seen border.GateSeen, err error) {
		p.looks++
		if p.looking != nil && p.looks > 1 {
			p.looking()
		}
		seen.Exists = p.exists
		if in.Before != "" {
			seen.Denied = p.denied
		}
		for _, a := range in.Asks {
			if !p.stopped[a.RunID] {
				seen.Running = append(seen.Running, a)
			}
		}
		return seen, nil
	}, activity.RegisterOptions{Name: onceward.ActivityLookAround})
	p.env.RegisterWorkflowWithOptions(func(_ workflow.Context, in onceward.ActionInput) (onceward.ActionReceipt, error) {
		p.started = append(p.started, in)
		return onceward.ActionReceipt{}, nil
	}, workflow.RegisterOptions{Name: onceward.WorkflowAction})
	p.env.OnSignalExternalWorkflow(anything, anything, anything, onceward.SignalReceipt, anything).Return(nil).Maybe()
	return p, border.GateInput{Act: onceward.ActInput{
		ActionID: "x/1", Agent: "a", Tool: "t", Digest: "d", Args: []byte(`{"order":"7"}`), Run: "first", CallID: "c0",
		Approval: &onceward.Approval{People: people, Why: "it is much"},
	}, Before: "a gate before"}
}

func (p *gatePlay) at(d time.Duration, do func()) { p.env.RegisterDelayedCallback(do, d) }

func (p *gatePlay) want(run, call string, within time.Duration) {
	p.env.SignalWorkflow(onceward.SignalWant, onceward.Asking{
		Run: run, RunID: run + "-id", Chain: run + "-chain", Call: call, Digest: "d", Until: p.env.Now().Add(within),
	})
}

func (p *gatePlay) state() (g onceward.Gate) {
	p.t.Helper()
	answer, err := p.env.QueryWorkflow(onceward.QueryReceipt)
	if err == nil {
		err = answer.Get(&g)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return g
}

// send sends an update and notes what was answered.
func (p *gatePlay) send(name string, arg any) {
	note := func(what string) { p.votes = append(p.votes, what) }
	p.env.UpdateWorkflow(name, fmt.Sprint(name, len(p.votes), p.env.Now().UnixNano()), &testsuite.TestUpdateCallback{
		OnAccept: func() {}, OnReject: func(err error) { note(err.Error()) },
		OnComplete: func(answer any, err error) {
			switch g, is := answer.(onceward.Gate); {
			case err != nil:
				note(err.Error())
			case is:
				note(string(g.Status))
			}
		},
	}, arg)
}

func (p *gatePlay) approve(by string) {
	p.send(onceward.UpdateApprove, onceward.Vote{By: by, Version: p.state().Version})
}
func (p *gatePlay) withdraw(run, call string) {
	p.send(onceward.UpdateWithdraw, border.Withdrawal{Run: run, RunID: run + "-id", Call: call})
}

func TestGate(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		people  int
		play    func(p *gatePlay)
		status  onceward.GateStatus
		started int
		votes   []string // what was answered, in part
	}{
		"approved": {play: func(p *gatePlay) {
			p.at(second, func() { p.approve("dana") })
		}, status: onceward.GateApproved, started: 1, votes: []string{"approved"}},
		"the action exists already": {play: func(p *gatePlay) { p.exists = true }, status: onceward.GateSuperseded},
		"the action comes to exist meanwhile": {play: func(p *gatePlay) {
			p.at(second, func() { p.exists = true; p.approve("dana") })
		}, status: onceward.GateSuperseded, votes: []string{"exists already"}},
		"it was denied while it was asked for": {play: func(p *gatePlay) {
			p.denied = []onceward.Denial{{Digest: "d", Approver: onceward.Approver{By: "eve", Note: "no"}}}
		}, status: onceward.GateDenied},
		"other arguments were denied before": {play: func(p *gatePlay) {
			p.denied = []onceward.Denial{{Digest: "e"}}
			p.at(second, func() { p.approve("dana") })
		}, status: onceward.GateApproved, started: 1, votes: []string{"approved"}},
		"nobody decides": {play: func(*gatePlay) {}, status: onceward.GateNotDecided},
		"one of two decides": {people: 2, play: func(p *gatePlay) {
			p.at(second, func() { p.approve("dana") })
		}, status: onceward.GateNotDecided, votes: []string{"awaiting_approval"}},
		"two decide": {people: 2, play: func(p *gatePlay) {
			p.at(second, func() { p.approve("dana") })
			p.at(2*second, func() { p.approve("eve") })
		}, status: onceward.GateApproved, started: 1, votes: []string{"awaiting_approval", "approved"}},
		"one person twice is one": {people: 2, play: func(p *gatePlay) {
			p.at(second, func() { p.approve("Dana") })
			p.at(2*second, func() { p.approve(" dana\t") })
		}, status: onceward.GateNotDecided, votes: []string{"awaiting_approval", "cannot be printed"}},
		"a no after one of two ends it": {people: 2, play: func(p *gatePlay) {
			p.at(second, func() { p.approve("dana") })
			p.at(2*second, func() {
				p.send(onceward.UpdateDeny, onceward.Vote{By: "dana", Note: "no", Version: p.state().Version})
			})
		}, status: onceward.GateDenied, votes: []string{"awaiting_approval", "denied"}},
		"yes and no at once: the first is heard": {play: func(p *gatePlay) {
			p.at(second, func() {
				v := p.state().Version
				p.approve("dana")
				p.send(onceward.UpdateDeny, onceward.Vote{By: "eve", Note: "no", Version: v})
			})
		}, status: onceward.GateApproved, started: 1, votes: []string{"a moment before", "approved"}},
		"the run takes its ask back": {play: func(p *gatePlay) {
			p.at(second, func() { p.withdraw("first", "c0") })
			p.at(2*second, func() { p.approve("dana") })
		}, status: onceward.GateNotDecided, votes: []string{"awaiting_approval"}},
		"it takes it back while somebody decides: the decision goes first": {play: func(p *gatePlay) {
			p.looking = func() { p.at(0, func() { p.withdraw("first", "c0") }) }
			p.at(second, func() { p.approve("dana") })
		}, status: onceward.GateApproved, started: 1, votes: []string{"approved", "approved"}},
		"an ask that is heard after it was taken back counts for nothing": {play: func(p *gatePlay) {
			p.at(second, func() { p.want("other", "c9", 10*second) })
			p.at(2*second, func() { p.withdraw("first", "c0") })
			p.at(3*second, func() { p.want("first", "c0", time.Hour) }) // of an activity that the server had given up
			p.at(4*second, func() { p.withdraw("other", "c9") })
		}, status: onceward.GateNotDecided, votes: []string{"awaiting_approval", "awaiting_approval"}},
		"nobody runs any more": {play: func(p *gatePlay) {
			p.at(second, func() { p.stopped["first-id"] = true; p.approve("dana") })
		}, status: onceward.GateNotDecided, votes: []string{"nobody waits"}},
		"another run waits still": {play: func(p *gatePlay) {
			p.at(second, func() { p.want("other", "c9", time.Hour) })
			p.at(2*second, func() { p.stopped["first-id"] = true; p.approve("dana") })
		}, status: onceward.GateApproved, started: 1, votes: []string{"approved"}},
		"a later run waits longer": {play: func(p *gatePlay) {
			p.at(30*time.Minute, func() { p.want("other", "c9", time.Hour) })
			p.at(80*time.Minute, func() { p.approve("dana") })
		}, status: onceward.GateApproved, started: 1, votes: []string{"approved"}},
		"a vote for what was asked before another run asked": {play: func(p *gatePlay) {
			var before int
			p.at(second, func() { before = p.state().Version; p.want("other", "c9", time.Hour) })
			p.at(2*second, func() { p.send(onceward.UpdateApprove, onceward.Vote{By: "dana", Version: before}) })
		}, status: onceward.GateNotDecided, votes: []string{"is not the request's version"}},
		"an ask for other arguments does not wait here": {play: func(p *gatePlay) {
			p.at(second, func() {
				p.env.SignalWorkflow(onceward.SignalWant, onceward.Asking{Run: "other", RunID: "other-id", Digest: "e", Until: p.env.Now().Add(10 * time.Hour)})
			})
			p.at(2*second, func() { p.withdraw("first", "c0") })
			p.at(3*second, func() { p.approve("dana") })
		}, status: onceward.GateNotDecided, votes: []string{"awaiting_approval"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, in := newGatePlay(t, max(1, c.people))
			p.at(0, func() { p.want("first", "c0", time.Hour) })
			c.play(p)
			p.env.ExecuteWorkflow(Approval, in)
			var got onceward.Gate
			if err := p.env.GetWorkflowResult(&got); err != nil {
				t.Fatal(err)
			}
			if got.Status != c.status || len(p.started) != c.started {
				t.Errorf("%s with %d actions started, want %s with %d", got.Status, len(p.started), c.status, c.started)
			}
			if len(p.votes) != len(c.votes) {
				t.Fatalf("answered were %q, want %q", p.votes, c.votes)
			}
			for i, want := range c.votes {
				if !strings.Contains(p.votes[i], want) {
					t.Errorf("answer %d is %q, want %q", i+1, p.votes[i], want)
				}
			}
			for _, in := range p.started {
				if n := max(1, c.people); len(in.Act.ApprovedBy) != n || in.Act.Approval == nil || p.stopped[in.Act.Run+"-id"] {
					t.Errorf("the action was started with %+v", in.Act)
				}
			}
			if c.status == onceward.GateDenied && (len(got.Denied) != 1 || got.Denied[0].Digest != "d") {
				t.Errorf("the denial is not on record: %+v", got)
			}
		})
	}
}
