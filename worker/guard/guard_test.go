package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// broken is a codec that fails for some payloads, or for all.
type broken struct {
	all  bool // the control fails too
	err  error
	left *int // calls that fail; nil: every one
	// answers limits the fault to payloads that hold a text.
	answers string
}

func (b broken) Encode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if b.all {
		return nil, b.err
	}
	return in, nil
}

func (b broken) Decode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if string(in[0].GetData()) == `"onceward"` && !b.all || !strings.Contains(string(in[0].GetData()), b.answers) {
		return in, nil
	}
	if b.left != nil {
		if *b.left--; *b.left < 0 {
			return in, nil
		}
	}
	return nil, b.err
}

func payload(t *testing.T, v any) *commonpb.Payloads {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayloads(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// decoded is what came of a decode: nothing, an error, or a panic.
func decoded(g *Converter, p *commonpb.Payloads, to any) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, g.FromPayloads(p, to)
}

func TestEachErrorEndsWhereItBelongs(t *testing.T) {
	passing := errors.New("the key service does not answer")
	marked := fmt.Errorf("open: %w", Permanent(errors.New("unknown key 7")))
	once := 1
	for _, c := range []struct {
		name  string
		at    place
		codec broken
		to    any
		want  string // error, panic or "": it was decoded
	}{
		{"E29 outside: an error is the caller's", outside, broken{err: passing}, &onceward.Start{}, "error"},
		{"E29 a passing error at a result fails the task", inWorkflow, broken{err: passing}, &onceward.CallResult{}, "panic"},
		{"E29 so does one that no later try mends: another worker may have the key", inWorkflow, broken{err: marked}, &onceward.CallResult{}, "panic"},
		{"E29 a passing error at a user's own type fails the task", inWorkflow, broken{err: passing}, &struct{}{}, "panic"},
		{"E29 a marked error at a user's own type is the user's", inWorkflow, broken{err: marked}, &struct{}{}, "error"},
		{"E29 an update that a codec says never decodes is refused", inWorkflow, broken{err: marked}, &onceward.Resolve{}, "error"},
		{"E29 one that does not decode is tried again: the codec may be down for its key alone", inWorkflow, broken{err: passing}, &onceward.Resolve{}, "panic"},
		{"E29 an update is tried again while the codec is down", inWorkflow, broken{err: passing, all: true}, &onceward.Resolve{}, "panic"},
		{"E29 an update that the codec fails once is tried again, and taken then", inWorkflow, broken{err: passing, left: &once}, &onceward.Resolve{}, "panic"},
		{"E29 a signal while the codec is down fails the task", inWorkflow, broken{err: passing, all: true}, &converter.RawValue{}, "panic"},
		{"E29 so it is where the SDK decodes an update in the task", inTask, broken{err: passing}, &onceward.Resolve{}, "panic"},
		{"E29 an update there that never decodes is refused", inTask, broken{err: marked}, &onceward.Resolve{}, "error"},
		{"E29 the SDK's own markers fail the task", inTask, broken{err: marked}, new(string), "panic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := New(converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c.codec))
			g.at = c.at
			panicked, err := decoded(g, payload(t, map[string]string{"by": "ops"}), c.to)
			got := ""
			if err != nil {
				got = "error"
			}
			if panicked != nil {
				got = "panic"
			}
			if got != c.want {
				t.Errorf("got %q (%v, %v), want %q", got, err, panicked, c.want)
			}
		})
	}
}

func TestSignalThatNeverDecodesIsHandedOverAsRefused(t *testing.T) {
	refuses := func(t *testing.T, g *Converter, p *commonpb.Payloads, err error) {
		t.Helper()
		var raw converter.RawValue
		// In plain text: a codec that refuses it must not see it taken all the same.
		if panicked, err := decoded(g, p, &raw); err != nil || panicked != nil {
			t.Fatalf("got %v, %v", err, panicked)
		}
		if got := raw.Payload(); string(got.GetMetadata()[converter.MetadataEncoding]) != onceward.EncodingRefused || !strings.Contains(string(got.GetData()), err.Error()) {
			t.Errorf("handed over %v", got)
		}
	}
	waits := func(t *testing.T, g *Converter, p *commonpb.Payloads) {
		t.Helper()
		if panicked, err := decoded(g, p, &converter.RawValue{}); panicked == nil {
			t.Fatalf("got %v, want the task to fail", err)
		}
	}
	guarded := func(err error) *Converter {
		g := New(converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), broken{err: err}))
		g.at = inWorkflow
		return g
	}
	one, other := onceward.Complete{By: "eve", Text: "done"}, onceward.Complete{By: "eve", Text: "really"}
	t.Run("E29 marked", func(t *testing.T) {
		err := Permanent(errors.New("unknown key 7"))
		refuses(t, guarded(err), payload(t, one), err)
	})
	t.Run("E29 unmarked, for as long as a key service may be down for one key", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := errors.New("message authentication failed")
			g := guarded(err)
			waits(t, g, payload(t, one))
			time.Sleep(doubtFor - 1)
			waits(t, g, payload(t, one))
			waits(t, g, payload(t, other))
			time.Sleep(time.Nanosecond)
			// The SDK makes a converter for each task.
			again := g.with(g.inner, inWorkflow, nil)
			refuses(t, again, payload(t, one), err)
			refuses(t, again, payload(t, other), err) // the same error: it is no more doubted
			time.Sleep(provenFor)
			waits(t, again, payload(t, onceward.Complete{By: "eve", Text: "later"}))
		})
	})
	t.Run("E29 a replay reads from the history what became of it", func(t *testing.T) {
		err := errors.New("message authentication failed")
		g := guarded(err)
		g.replayed = func() bool { return true }
		refuses(t, g, payload(t, one), err)
	})
	t.Run("E29 no more is remembered than is bounded", func(t *testing.T) {
		var d doubts
		for i := range 3 * most {
			d.over([]*commonpb.Payload{{Data: fmt.Append(nil, i)}}, errors.New("message authentication failed"))
		}
		if len(d.since) > most {
			t.Errorf("%d payloads are remembered", len(d.since))
		}
	})
}

func TestJSONOfAnotherTypeIsNoFaultOfTheCodec(t *testing.T) {
	for name, dc := range map[string]converter.DataConverter{"the SDK's": nil, "a user's own": plainJSON{converter.GetDefaultDataConverter()}} {
		g := New(dc)
		g.at = inWorkflow
		if panicked, err := decoded(g, payload(t, "text"), &onceward.CallResult{}); err == nil || panicked != nil {
			t.Errorf("%s: got %v, %v, want an error", name, err, panicked)
		}
	}
}

// plainJSON decodes without the SDK's errors.
type plainJSON struct{ converter.DataConverter }

func (plainJSON) FromPayloads(p *commonpb.Payloads, to ...any) error {
	return json.Unmarshal(p.GetPayloads()[0].GetData(), to[0])
}

func TestOnlyAGuardedOrPlainClientServesWorkers(t *testing.T) {
	lazy := func(o client.Options) client.Client {
		c, err := client.NewLazyClient(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	codec := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), broken{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ForWorkers(ended, lazy(client.Options{DataConverter: codec})); !errors.Is(err, ErrUnguarded) {
		t.Errorf("a codec without the guard: %v", err)
	}
	// The SDK says nowhere which converter a client has: this fails when it keeps it elsewhere.
	plain := lazy(client.Options{})
	if c, release, err := ForWorkers(ended, plain); err != nil || c != plain {
		t.Errorf("the SDK's own converter: %v", err)
	} else {
		release()
	}
}

// forgiving is an interceptor of a user's that makes an error of every panic.
type forgiving struct {
	interceptor.WorkerInterceptorBase
}

func (*forgiving) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &forgivingRun{}
	i.Next = next
	return i
}

type forgivingRun struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *forgivingRun) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("forgiven")
		}
	}()
	return i.Next.ExecuteWorkflow(ctx, in)
}

func TestNoInterceptorMakesAnErrorOfAPanicOfTheGuard(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetDataConverter(New(converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), broken{err: errors.New("the key service does not answer"), answers: "result"})))
	env.SetTestTimeout(time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{Interceptor(), &forgiving{}}})
	answer := func(context.Context) (string, error) { return "result", nil }
	env.RegisterActivityWithOptions(answer, activity.RegisterOptions{Name: "answer"})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		var out string
		return workflow.ExecuteActivity(ctx, "answer").Get(ctx, &out)
	})
	err := env.GetWorkflowError()
	if err == nil || strings.Contains(err.Error(), "forgiven") || !strings.Contains(err.Error(), "the key service does not answer") {
		t.Errorf("the workflow ends with %v, want the guard's panic", err)
	}
}

func TestPanicPolicyThatClosesRunsIsRefused(t *testing.T) {
	for policy, refused := range map[worker.WorkflowPanicPolicy]bool{worker.FailWorkflow: true, worker.BlockWorkflow: false} {
		o := worker.PluginConfigureWorkerOptions{WorkerOptions: &worker.Options{WorkflowPanicPolicy: policy}}
		if err := PanicPolicy().ConfigureWorker(t.Context(), o); (err != nil) != refused {
			t.Errorf("policy %v: %v, refused %v", policy, err, refused)
		}
	}
}
