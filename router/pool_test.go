package router_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
)

// scripted starts a scripted pool and a router over it.
func scripted(t *testing.T, cfg router.Config, resources ...routertest.Resource) (*routertest.Pool, *router.Router) {
	t.Helper()
	p := routertest.Start(t, routertest.Config{Resources: resources, Model: routertest.RefundModel()})
	for _, s := range p.Resources() {
		res := router.Resource{Name: s.Name(), Kind: router.KindAzure, BaseURL: s.URL(), Key: "k"}
		for _, r := range resources {
			if r.Name == s.Name() {
				res.Boundary, res.API = r.EncryptionBoundary, string(r.API)
			}
			if r.Name == s.Name() && r.Dialect == routertest.DialectCompatible {
				res.Kind = router.KindCompatible
			}
		}
		res.Deployments = []router.Deployment{{
			Model: "m", Price: onceward.Price{Input: 1_000_000, CachedInput: 100_000, Output: 10_000_000},
			Capability: onceward.Capability{MaxInputTokens: 100_000, MaxOutputTokens: 10_000, ToolCalling: true, ParallelTools: true, StrictSchema: true, EncryptedReasoning: res.API != router.APIChatCompletions},
		}}
		cfg.Resources = append(cfg.Resources, res)
	}
	r, err := router.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, r
}

// talk is a run's transcript against a router, without a workflow.
type talk struct {
	t          *testing.T
	r          *router.Router
	items      []onceward.Item
	boundaries []string
	repair     onceward.Repair
}

func begin(t *testing.T, r *router.Router) *talk {
	t.Helper()
	item, err := onceward.Text("user", "Refund order-1842, please. order_id: order-1842")
	if err != nil {
		t.Fatal(err)
	}
	return &talk{t: t, r: r, items: []onceward.Item{item}}
}

var tools = []onceward.ToolDecl{
	{Name: "get_order", Schema: []byte(`{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"],"additionalProperties":false}`)},
	{Name: "create_refund", Schema: []byte(`{"type":"object","properties":{"order_id":{"type":"string"},"amount_cents":{"type":"integer"},"reason":{"type":"string"}},"required":["order_id","amount_cents","reason"],"additionalProperties":false}`)},
}

func (k *talk) turn(ctx context.Context, resource string) (onceward.ModelResponse, error) {
	k.t.Helper()
	d := k.r.Select(onceward.RouteRequest{
		RunKey: "wf/1", Turn: 1, Models: []string{"m"}, Resources: []string{resource}, Boundaries: k.boundaries,
		Requirements: onceward.Requirements{OutputTokens: 1000, ToolCalling: true}, Bytes: 1000, Repair: k.repair,
	})
	if d.Route == nil {
		k.t.Fatalf("no route: %+v", d.Dropped)
	}
	res, err := k.r.Call(ctx, onceward.ModelRequest{
		Route: *d.Route, RunKey: "wf/1", Instructions: "Refund.", Items: k.items, Tools: tools, Repair: k.repair,
		Timeouts: onceward.Timeouts{FirstEvent: time.Minute, Idle: time.Minute, Attempt: 100 * time.Second}, // for no test to meet
	})
	if err == nil {
		k.items = append(k.items, res.Items...)
		for _, item := range res.Items {
			if item.Boundary != "" {
				k.boundaries = append(k.boundaries, item.Boundary)
			}
		}
	}
	return res, err
}

// answer gives every call an output.
func (k *talk) answer(calls []onceward.WireCall, output string) {
	k.t.Helper()
	for _, call := range calls {
		item, err := onceward.CallOutput(call.CallID, output)
		if err != nil {
			k.t.Fatal(err)
		}
		k.items = append(k.items, item)
	}
}

const order = `{"order_id":"order-1842","status":"paid","paid":true,"amount_cents":4200,"refundable":true}`

func TestReasoningIsReplayedInsideItsBoundaryAndLeftOutAcross(t *testing.T) {
	p, r := scripted(t, router.Config{},
		routertest.Resource{Name: "a", EncryptionBoundary: "shared"}, routertest.Resource{Name: "b", EncryptionBoundary: "shared"}, routertest.Resource{Name: "c"})
	k := begin(t, r)
	first, err := k.turn(t.Context(), "a")
	if err != nil || len(first.Calls) == 0 || first.ReasoningStripped {
		t.Fatalf("%+v, %v", first, err)
	}
	if len(k.boundaries) == 0 || k.boundaries[0] != "shared" {
		t.Fatalf("no reasoning of a boundary among %+v", first.Items)
	}
	k.answer(first.Calls, order)
	before := *k
	for resource, stripped := range map[string]bool{"b": false, "c": true} {
		again := before
		res, err := again.turn(t.Context(), resource)
		if err != nil || res.ReasoningStripped != stripped {
			t.Errorf("on %s: stripped %v, %v", resource, res.ReasoningStripped, err)
		}
		sent := p.Resource(resource).Requests()
		replayed := false
		for _, item := range sent[len(sent)-1].Items {
			replayed = replayed || item.Type == "reasoning"
		}
		if replayed == stripped {
			t.Errorf("on %s reasoning was replayed: %v", resource, replayed)
		}
	}
}

func TestWrongBoundaryIsRepairedOnceWithoutAHealthMark(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a"}, routertest.Resource{Name: "b"})
	k := begin(t, r)
	first, err := k.turn(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	k.answer(first.Calls, order)
	for i := range k.items { // the configuration claims what is not so
		if k.items[i].Boundary == "a" {
			k.items[i].Boundary = "b"
		}
	}
	_, err = k.turn(t.Context(), "b")
	var f *onceward.Failure
	if !errors.As(err, &f) || f.Class != onceward.ClassUndecryptableReasoning || f.Repair != onceward.RepairStripReasoning {
		t.Fatalf("%+v", f)
	}
	k.repair = f.Repair
	if res, err := k.turn(t.Context(), "b"); err != nil || !res.ReasoningStripped {
		t.Errorf("repaired: %+v, %v", res, err)
	}
	if n := p.Resource("b").Attempts(); n != 2 {
		t.Errorf("%d requests to b", n)
	}
}

func TestEveryFaultIsOneRequest(t *testing.T) {
	hangs := map[routertest.FaultKind]bool{routertest.FaultHang: true, routertest.FaultHangHeaders: true, routertest.FaultHangEvents: true}
	fine := map[routertest.FaultKind]bool{
		routertest.FaultSlow: true, routertest.FaultTwoTerminals: true, routertest.FaultJSON: true, routertest.FaultNoUsage: true, routertest.FaultProse: true}
	kinds := []routertest.FaultKind{
		routertest.FaultStatus, routertest.FaultHang, routertest.FaultHangHeaders, routertest.FaultReset, routertest.FaultClose, routertest.FaultEmpty,
		routertest.FaultNull, routertest.FaultObject, routertest.FaultHTML, routertest.FaultSlow, routertest.FaultHangEvents, routertest.FaultCutEvents,
		routertest.FaultCutBytes, routertest.FaultProse, routertest.FaultFailed, routertest.FaultIncomplete, routertest.FaultErrorEvent,
		routertest.FaultNoTerminal, routertest.FaultTwoTerminals, routertest.FaultBrokenEvent, routertest.FaultJSON, routertest.FaultNoUsage,
		routertest.FaultNoOutput, routertest.FaultBrokenArguments,
	}
	type row struct {
		kind routertest.FaultKind
		api  routertest.API
	}
	var rows []row
	for _, kind := range kinds {
		rows = append(rows, row{kind, routertest.APIResponses}, row{kind, routertest.APIChatCompletions})
	}
	for _, c := range rows {
		for _, warm := range []bool{false, true} {
			kind := c.kind
			t.Run(fmt.Sprintf("%s, %s, warm connection %v", kind, c.api, warm), func(t *testing.T) {
				t.Parallel()
				p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", API: c.api})
				if warm { // a kept-alive connection is where net/http would send again
					if _, err := begin(t, r).turn(t.Context(), "a"); err != nil {
						t.Fatal(err)
					}
				}
				before := p.Attempts()
				f := routertest.Fault{Kind: kind, Status: 500, AfterEvents: 3, AfterBytes: 700, Code: "server_error", Message: "boom"}
				if kind != routertest.FaultStatus {
					f.Status = 0
				}
				if err := p.SetFaults(f); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if hangs[kind] && kind != routertest.FaultHangEvents { // the caller gives up once the request is there
					defer p.OnRequest(func(routertest.Request) { cancel() })()
				}
				if kind == routertest.FaultHangEvents {
					defer p.OnEvent(func(_ routertest.Request, e routertest.Event) {
						if e.N == f.AfterEvents {
							cancel()
						}
					})()
				}
				res, err := begin(t, r).turn(ctx, "a")
				if n := p.Attempts() - before; n != 1 {
					t.Errorf("%d requests", n)
				}
				if fine[kind] != (err == nil) {
					t.Errorf("%+v, %v", res, err)
				}
				r.Close() // a test has a permit of its own
				if h := r.Health()[0]; h.InFlight != 0 {
					t.Errorf("%d permits left behind", h.InFlight)
				}
			})
		}
	}
}

// The first case of the rotation: every resource fails in its own way, and each
// is asked once.
func TestWalkAsksEachResourceOnce(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a"}, routertest.Resource{Name: "b"}, routertest.Resource{Name: "c"}, routertest.Resource{Name: "d"})
	if err := p.SetFaults(
		routertest.Fault{Kind: routertest.FaultStatus, Resource: "a", Status: 402, Body: `{"error":{"message":"Insufficient credits"}}`},
		routertest.Fault{Kind: routertest.FaultEmpty, Resource: "b"},
		routertest.Fault{Kind: routertest.FaultProse, Resource: "c", Body: "Sure! Here you go."},
	); err != nil {
		t.Fatal(err)
	}
	if err := p.SetModel("", routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say(`{"ok":true}`)}}}}); err != nil {
		t.Fatal(err)
	}
	item, _ := onceward.Text("user", "json please")
	req := onceward.RouteRequest{RunKey: "wf/9", Turn: 1, Models: []string{"m"}, Requirements: onceward.Requirements{OutputTokens: 100}, Bytes: 100}
	for attempt := 1; ; attempt++ {
		d := r.Select(req)
		if d.Route == nil {
			t.Fatalf("no route at attempt %d: %+v", attempt, d.Dropped)
		}
		res, err := r.Call(t.Context(), onceward.ModelRequest{Route: *d.Route, Items: []onceward.Item{item}, Check: func(text string) error {
			if text != `{"ok":true}` {
				return errors.New("not JSON")
			}
			return nil
		}})
		if err == nil {
			if d.Route.Resource != "d" || res.Text != `{"ok":true}` {
				t.Errorf("%s answered %q", d.Route.Resource, res.Text)
			}
			break
		}
		var f *onceward.Failure
		errors.As(err, &f)
		req.Excluded = append(req.Excluded, onceward.ExcludedRoute{Resource: d.Route.Resource, Class: f.Class, Soft: f.Class != onceward.ClassBilling, Turn: 1})
	}
	for _, s := range p.Resources() {
		if n := s.Attempts(); n > 1 || s.Name() == "d" && n != 1 {
			t.Errorf("%s was asked %d times", s.Name(), n)
		}
	}
}
