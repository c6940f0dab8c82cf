package worker

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/worker/config"
)

type shop struct{}

type orderIn struct {
	Order string `json:"order_id" jsonschema:"the order's number"`
}

type refundIn struct {
	Order  string  `json:"order_id"`
	Amount int64   `json:"amount_cents"`
	Reason *string `json:"reason,omitempty" onceward:"incidental"`
}

type order struct {
	Total int64 `json:"total_cents"`
}

func (*shop) GetOrder(context.Context, orderIn) (order, error) { return order{}, nil }

func (*shop) Refund(context.Context, onceward.Action, refundIn) (onceward.Receipt, error) {
	return onceward.Committed("r1"), nil
}

func (*shop) FindRefund(context.Context, onceward.Action, refundIn) (onceward.Receipt, error) {
	return onceward.Absent(), nil
}

func (*shop) Tagged(context.Context, struct{ Tags map[string]string }) (order, error) {
	return order{}, nil
}

type keyed struct {
	Key string `json:"idempotencyKey"`
}

func (*shop) Charge(context.Context, onceward.Action, keyed) (onceward.Receipt, error) {
	return onceward.Committed("c1"), nil
}

func refundID(in refundIn) onceward.ActionID { return onceward.ActionID("refund/" + in.Order + "/v1") }

func readOrder(spec onceward.Spec) onceward.Tool { return onceward.Read(spec, (*shop).GetOrder) }

func writeRefund(spec onceward.Spec) onceward.Tool {
	return onceward.Write(spec, refundID, (*shop).Refund, (*shop).FindRefund)
}

func shopAgent() onceward.Agent {
	return onceward.Agent{
		Name: "refunds", Instructions: "Refund at most once.", Task: "refund",
		Tools: []onceward.Tool{
			readOrder(onceward.Spec{Name: "get_order", Description: "Reads an order."}),
			writeRefund(onceward.Spec{Name: "create_refund", Settle: 5 * time.Second, Once: true}),
		},
	}
}

func refundWorkflow(workflow.Context, onceward.Start) (onceward.Result, error) {
	return onceward.Result{}, nil
}

func otherWorkflow(workflow.Context, onceward.Start) (onceward.Result, error) {
	return onceward.Result{}, nil
}

// small is the smallest sensible configuration. Rows of tables replace a part.
const small = `temporal: {address: "127.0.0.1:7233"}
worker: {drain: 180s}
actions: {lease: 60s}
pool:
  breaker: {window: 300s}
  resources:
    - name: a
      kind: compatible
      base_url: http://127.0.0.1:1/v1
      deployments:
        - model: gpt-5.6
          price: {input: 1, output: 2}
          capability: {max_input_tokens: 1000, max_output_tokens: 8000}
tasks:
  refund:
    model: gpt-5.6
`

const withTools = "max_output_tokens: 8000, tool_calling: true, strict_schema: true"

func newWorker(t *testing.T, replace ...string) *Worker {
	t.Helper()
	text := strings.NewReplacer(append([]string{"max_output_tokens: 8000", withTools}, replace...)...).Replace(small)
	cfg, err := config.Parse("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewLazyClient(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w, err := New(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRegisterResolvesTheManifest(t *testing.T) {
	w := newWorker(t, "    model: gpt-5.6", "    model: gpt-5.6\n    requires: {tool_calling: true}\n    max_output_tokens: 3000\n    degraded: result_delayed")
	agent := shopAgent()
	agent.Requires = onceward.Requirements{InputTokens: 500}
	agent.Output = onceward.JSON[order]("verdict")
	if err := w.Register(refundWorkflow, agent, &shop{}); err != nil {
		t.Fatal(err)
	}
	m := w.agents["refunds"].Manifest
	got, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := onceward.Manifest{
		Type: "onceward_manifest", Instructions: "Refund at most once.",
		Plan: onceward.Plan{
			Version: 2, Figures: true, Agent: "refunds", Task: "refund", Models: []string{"gpt-5.6"},
			Requirements: onceward.Requirements{InputTokens: 500, OutputTokens: 3000, ToolCalling: true, StrictSchema: true},
			Budget:       onceward.Budget{Attempts: 12, Cost: 500_000, AttemptCost: 200_000, Deadline: 10 * time.Minute, PeopleDeadline: 72 * time.Hour},
			Timeouts:     onceward.Timeouts{FirstEvent: 30 * time.Second, Idle: 30 * time.Second, Attempt: 2 * time.Minute},
			Tools: []onceward.ToolPlan{
				{Name: "get_order", Kind: onceward.KindRead, Timeout: 30 * time.Second, MaxAttempts: 3, MaxOutput: 128 << 10},
				{Name: "create_refund", Kind: onceward.KindWrite, Once: true, Write: onceward.WritePolicy{
					Queue: "onceward-actions", Lease: time.Minute, Heartbeat: 10 * time.Second, Settle: 5 * time.Second, Skew: 2 * time.Second,
					KeyTTL: 24 * time.Hour, ReadHorizon: 30 * 24 * time.Hour, Submit: submitAfter,
				}},
			},
			Degraded: onceward.OutcomeResultDelayed, CrossBoundary: "strip", Affinity: "soft", Heartbeat: 10 * time.Second, Release: "dev",
			Limits: onceward.TurnLimits{Calls: 128, ReadsInFlight: 32, OutputBytes: 4 << 20},
		},
		Tools: []onceward.ToolDecl{
			{Name: "get_order", Description: "Reads an order.", Schema: json.RawMessage(`{"type":"object","properties":{"order_id":{"type":"string","description":"the order's number"}},"required":["order_id"],"additionalProperties":false}`)},
			{Name: "create_refund", Schema: json.RawMessage(`{"type":"object","properties":{"order_id":{"type":"string"},"amount_cents":{"type":"integer"},"reason":{"type":["string","null"]}},"required":["order_id","amount_cents","reason"],"additionalProperties":false}`)},
		},
		Output: &onceward.OutputDecl{Name: "verdict", Schema: json.RawMessage(`{"type":"object","properties":{"total_cents":{"type":"integer"}},"required":["total_cents"],"additionalProperties":false}`)},
	}
	expected, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var is, should any
	if json.Unmarshal(got, &is) != nil || json.Unmarshal(expected, &should) != nil || !reflect.DeepEqual(is, should) {
		t.Errorf("manifest\n%s\nwant\n%s", got, expected)
	}
}

func TestRegisterRefusesAtStart(t *testing.T) {
	read := onceward.Spec{Name: "get_order"}
	for _, row := range []struct {
		name   string
		change func(*onceward.Agent)
		fn     any
		recv   any
		want   string
	}{
		{"agent without a name", func(a *onceward.Agent) { a.Name = "" }, nil, nil, `register agent : name "" is not 1 to 64 characters of A-Z a-z 0-9 _ -`},
		{"agent name with a dot", func(a *onceward.Agent) { a.Name = "a.b" }, nil, nil, `register agent a.b: name "a.b" is not 1 to 64 characters of A-Z a-z 0-9 _ -`},
		{"unknown task class", func(a *onceward.Agent) { a.Task = "Refund" }, nil, nil, `register agent refunds: the configuration has no task class "Refund"; did you mean refund?`},
		{"tool name with a space", func(a *onceward.Agent) { a.Tools = []onceward.Tool{readOrder(onceward.Spec{Name: "get order"})} }, nil, nil, `register agent refunds: tool get order: the name "get order" is not 1 to 64 characters of A-Z a-z 0-9 _ -`},
		{"two tools of one name", func(a *onceward.Agent) { a.Tools = []onceward.Tool{readOrder(read), readOrder(read)} }, nil, nil, "register agent refunds: tool get_order: two tools have this name"},
		{"tool of the zero value", func(a *onceward.Agent) { a.Tools = []onceward.Tool{{Spec: read}} }, nil, nil, "register agent refunds: tool get_order: it was not made by Read or Write"},
		{"another receiver", func(a *onceward.Agent) { a.Tools = a.Tools[:1] }, nil, &order{}, "register agent refunds: tool get_order: bind tool get_order: it is a method of *worker.shop, not of *worker.order"},
		{"no receiver", func(a *onceward.Agent) { a.Tools = a.Tools[:1] }, nil, (*shop)(nil), "register agent refunds: tool get_order: there is no instance of *worker.shop to carry it out"},
		{"map in the input", func(a *onceward.Agent) { a.Tools = []onceward.Tool{onceward.Read(read, (*shop).Tagged)} }, nil, nil, "register agent refunds: tool get_order: field Tags: a map has no strict schema; use a list of structs with the fields name and value"},
		{"input that poses as the key", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{onceward.Write(onceward.Spec{Name: "charge"}, func(keyed) onceward.ActionID { return "c" }, (*shop).Charge, (*shop).Charge)}
		}, nil, nil, "register agent refunds: tool charge: field idempotencyKey: the model must not choose the key of an effect; leave the field out, Action.Key is made from the action id"},
		{"negative settle", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{writeRefund(onceward.Spec{Name: "w", Settle: -time.Second})}
		}, nil, nil, "register agent refunds: tool w: Settle is negative: -1s"},
		{"negative horizon", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{writeRefund(onceward.Spec{Name: "w", ReadHorizon: -time.Second})}
		}, nil, nil, "register agent refunds: tool w: ReadHorizon is negative: -1s"},
		{"negative attempts", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{readOrder(onceward.Spec{Name: "r", MaxAttempts: -1})}
		}, nil, nil, "register agent refunds: tool r: MaxAttempts is negative: -1"},
		{"read with a field of writes", func(a *onceward.Agent) { a.Tools = []onceward.Tool{readOrder(onceward.Spec{Name: "r", Once: true})} }, nil, nil, "register agent refunds: tool r: a Spec's Settle, Keyed, KeyTTL, ReadHorizon, Lease, VerifyByRead, Once and Approve belong to Write; a Read may be carried out more than once"},
		{"write with a field of reads", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{writeRefund(onceward.Spec{Name: "w", Timeout: time.Second})}
		}, nil, nil, "register agent refunds: tool w: a Spec's Timeout, MaxAttempts and MaxOutput belong to Read; a Write is bounded by Lease, never retried blindly, and answers with a receipt"},
		{"E26 output of a read beyond its bound", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{readOrder(onceward.Spec{Name: "r", MaxOutput: 1<<20 + 1})}
		}, nil, nil, "register agent refunds: tool r: MaxOutput is 1048577, want 1 to 1048576, or 0 for 131072"},
		{"E26 output of a write", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{writeRefund(onceward.Spec{Name: "w", MaxOutput: 1})}
		}, nil, nil, "register agent refunds: tool w: a Spec's Timeout, MaxAttempts and MaxOutput belong to Read"},
		{"E26 limits beyond their bound", func(a *onceward.Agent) { a.Limits.Calls = 513 }, nil, nil, "register agent refunds: limits: Calls is 513, want 1 to 512, or 0 for 128"},
		{"E26 limits in which a read could never start", func(a *onceward.Agent) {
			a.Tools, a.Limits.OutputBytes = []onceward.Tool{readOrder(onceward.Spec{Name: "r", MaxOutput: 1000})}, 999
		}, nil, nil, "register agent refunds: limits: OutputBytes is 999, less than MaxOutput of the tool r (1000), which could never be called"},
		{"lease over the drain", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{writeRefund(onceward.Spec{Name: "w", Lease: time.Hour})}
		}, nil, nil, "register agent refunds: tool w: a Spec's Lease 1h0m0s is longer than worker.drain (3m0s): a stop would cut the commit"},
		{"lease under the heartbeat", func(a *onceward.Agent) {
			a.Tools = []onceward.Tool{writeRefund(onceward.Spec{Name: "w", Lease: time.Second})}
		}, nil, nil, "register agent refunds: tool w: a Spec's Lease 1s is shorter than worker.heartbeat (10s): a lost commit would not be noticed"},
		{"output without a name", func(a *onceward.Agent) { a.Output = onceward.JSON[order]("") }, nil, nil, `register agent refunds: output: the name "" is not 1 to 64 characters of A-Z a-z 0-9 _ -`},
		{"E06 cut texts of an agent that answers in JSON", func(a *onceward.Agent) { a.Output, a.AcceptCut = onceward.JSON[order]("o"), true }, nil, nil, "register agent refunds: AcceptCut goes with a text; JSON that was cut is never of the type that Output asks for"},
		{"output that is no struct", func(a *onceward.Agent) { a.Output = onceward.JSON[[]string]("list") }, nil, nil, "register agent refunds: output: []string is not a struct; wrap it in one, so that every value has a name"},
		{"requirement nobody meets", func(a *onceward.Agent) { a.Requires.ImageInput = true }, nil, nil, "register agent refunds: no deployment of task class refund can serve it: a/gpt-5.6 lacks image_input"},
		{"instructions over the payload limit", func(a *onceward.Agent) { a.Instructions = strings.Repeat("x", 2<<20) }, nil, nil, "register agent refunds: instructions and schemas are too large: canonicalise item: "},
		{"workflow without Start", nil, func(workflow.Context, string) (string, error) { return "", nil }, nil, "register agent refunds: the workflow is a func("},
		{"workflow that is no function", nil, "RefundWorkflow", nil, "register agent refunds: the workflow is a string, want func(workflow.Context, onceward.Start) (onceward.Result, error)"},
		{"workflow without a name", nil, func(workflow.Context, onceward.Start) (onceward.Result, error) { return onceward.Result{}, nil }, nil, "register agent refunds: the workflow function "},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorker(t)
			agent := shopAgent()
			if row.change != nil {
				row.change(&agent)
			}
			var recv any = &shop{}
			if row.recv != nil {
				recv = row.recv
			}
			var fn any = refundWorkflow
			if row.fn != nil {
				fn = row.fn
			}
			err := w.Register(fn, agent, recv)
			if err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("refused with\n%v\nwant\n%s", err, row.want)
			}
			if len(w.agents)+len(w.workflows) != 0 {
				t.Error("something was registered all the same")
			}
		})
	}
}

func TestManifestSaysWhetherCutTextsAreAccepted(t *testing.T) {
	for _, accept := range []bool{true, false} { // E06
		w, agent := newWorker(t), shopAgent()
		agent.AcceptCut = accept
		if err := w.Register(refundWorkflow, agent, &shop{}); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(w.agents["refunds"].Manifest)
		if err != nil || strings.Contains(string(raw), `"accept_cut":true`) != accept || strings.Contains(string(raw), "accept_cut") != accept {
			t.Errorf("E06 accepted %v: %s, %v", accept, raw, err)
		}
	}
}

func TestRegisterReportsEveryToolsMistake(t *testing.T) {
	agent := shopAgent()
	agent.Tools = []onceward.Tool{readOrder(onceward.Spec{Name: "a b"}), readOrder(onceward.Spec{Name: "c", Timeout: -1})}
	err := newWorker(t).Register(refundWorkflow, agent, &shop{})
	if err == nil || !strings.Contains(err.Error(), "tool a b:") || !strings.Contains(err.Error(), "tool c:") {
		t.Errorf("refused with %v, want both tools named", err)
	}
}

func TestRegisteringTwiceFails(t *testing.T) {
	w := newWorker(t)
	if err := w.Register(refundWorkflow, shopAgent(), &shop{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Register(otherWorkflow, shopAgent(), &shop{}); err == nil || err.Error() != "register agent refunds: an agent of this name is registered already" {
		t.Errorf("the same agent again: %v", err)
	}
	other := shopAgent()
	other.Name = "others"
	if err := w.Register(refundWorkflow, other, &shop{}); err == nil || err.Error() != "register agent others: a workflow of the name refundWorkflow is registered already" {
		t.Errorf("the same workflow again: %v", err)
	}
	if err := w.Register(nil, other, &shop{}); err != nil {
		t.Errorf("a second agent for the registered workflow: %v", err)
	}
}

func TestNewRefusesWithoutClientOrConfiguration(t *testing.T) {
	if _, err := New(nil, Config{}); err == nil || err.Error() != "make worker: there is no client" {
		t.Errorf("no client: %v", err)
	}
	c, err := client.NewLazyClient(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var all *config.ConfigError
	if _, err := New(c, Config{}); !errors.As(err, &all) {
		t.Errorf("the zero configuration: %v", err)
	}
}

func TestAnswersAreJudgedBySchemaThenByAccept(t *testing.T) {
	accepted := 0
	w := newWorker(t)
	agent := shopAgent()
	agent.Output = onceward.JSON[order]("verdict")
	agent.Accept = func(_ context.Context, text string) error {
		accepted++
		if strings.Contains(text, "13") {
			panic("unlucky")
		}
		if strings.Contains(text, "-") {
			return errors.New("the total is negative")
		}
		return nil
	}
	if err := w.Register(refundWorkflow, agent, &shop{}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, text, want string
		accepted         int
	}{
		{"good answer", `{"total_cents":1}`, "", 1},
		{"text", `sorry`, "output: not valid JSON: invalid character 's' looking for beginning of value", 0},
		{"blank", " ", "output: it is empty", 0},
		{"missing key", `{}`, "output: total_cents: is missing", 0},
		{"duplicate key", `{"total_cents":1,"total_cents":2}`, "output: ", 0},
		{"refused by Accept", `{"total_cents":-1}`, "the total is negative", 1},
		{"panic in Accept", `{"total_cents":13}`, "accept: panic: unlucky", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			accepted = 0
			got := ""
			if err := w.agents["refunds"].Check(context.Background(), row.text); err != nil {
				got = err.Error()
			}
			if got != row.want && (row.want == "" || !strings.HasPrefix(got, row.want)) {
				t.Errorf("judged %q, want %q", got, row.want)
			}
			if accepted != row.accepted {
				t.Errorf("Accept was called %d times, want %d", accepted, row.accepted)
			}
		})
	}
}

func TestRouterTakesTheLoadedPool(t *testing.T) {
	w := newWorker(t, "price: {input: 1, output: 2}", "price: {input: 0, output: 0}")
	got := w.cfg.RouterConfig()
	r := got.Resources[0]
	if got.LongestAttempt != 2*time.Minute || r.Name != "a" || !r.Deployments[0].Free || r.Deployments[0].Capability.MaxInputTokens != 1000 {
		t.Errorf("pool of the router: %+v", got)
	}
}
