package router_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
)

// pinned asks a resource by the id of something that it should hold.
func pinned(t *testing.T, r *router.Router, resource string, change func(*onceward.ModelRequest)) (onceward.ModelResponse, *onceward.Failure) {
	t.Helper()
	d := r.Select(onceward.RouteRequest{
		RunKey: "wf/1", Turn: 1, Models: []string{"m"}, Owner: resource, Requirements: onceward.Requirements{OutputTokens: 1000, ToolCalling: true}, Bytes: 1000,
	})
	if d.Route == nil {
		t.Fatalf("no route: %+v", d.Dropped)
	}
	req := onceward.ModelRequest{
		Route: *d.Route, RunKey: "wf/1", Items: begin(t, r).items, Tools: tools,
		Timeouts: onceward.Timeouts{FirstEvent: time.Minute, Idle: time.Minute, Attempt: 100 * time.Second},
	}
	change(&req)
	response, err := r.Call(t.Context(), req)
	var f *onceward.Failure
	if err != nil && !errors.As(err, &f) {
		t.Fatal(err)
	}
	return response, f
}

func inConversation(req *onceward.ModelRequest) { req.Conversation = "conv_1" }

func aboutFile(req *onceward.ModelRequest) {
	item, err := onceward.NewItem([]byte(`{"role":"user","content":[{"type":"input_text","text":"Refund order-1842, please."},{"type":"input_file","file_id":"file-1"}]}`), "")
	if err != nil {
		panic(err) // it is a constant
	}
	req.Items = []onceward.Item{item}
}

// What one resource holds, another does not know. Whatever it says of that is no
// mark on its health, and costs one request.
func TestStateOfAnotherResourceIsNamedAndIsNobodysFault(t *testing.T) {
	for name, c := range map[string]struct {
		ask   func(*onceward.ModelRequest)
		class onceward.Class
	}{
		"a file":         {aboutFile, onceward.ClassResourceAffinity},
		"a conversation": {inConversation, onceward.ClassStaleAnchor},
		"a response":     {func(req *onceward.ModelRequest) { req.PreviousResponseID = "resp_1" }, onceward.ClassStaleAnchor},
	} {
		for _, dialect := range []routertest.Dialect{routertest.DialectAzure, routertest.DialectOpenAI} {
			t.Run(name+", "+string(dialect), func(t *testing.T) {
				p, r := scripted(t, router.Config{},
					routertest.Resource{Name: "a", Dialect: dialect, Files: []string{"file-1"}, Conversations: []string{"conv_1"}}, routertest.Resource{Name: "b", Dialect: dialect})
				if name != "a response" {
					if _, f := pinned(t, r, "a", c.ask); f != nil {
						t.Errorf("its owner: %v", f)
					}
				}
				before := p.Attempts()
				_, f := pinned(t, r, "b", c.ask)
				if f == nil || f.Class != c.class || f.ProviderStateCreated || f.NotSent {
					t.Fatalf("%+v, want %s", f, c.class)
				}
				if f.StateEffect != onceward.EffectNone && f.StateEffect != onceward.EffectDropAnchor {
					t.Errorf("effect %s", f.StateEffect)
				}
				if n := p.Attempts() - before; n != 1 {
					t.Errorf("%d requests", n)
				}
				if _, f = pinned(t, r, "b", func(*onceward.ModelRequest) {}); f != nil {
					t.Errorf("the resource is out of use after it: %v", f)
				}
			})
		}
	}
}

// After a fault in a conversation the failure says whether the resource may have
// appended; the scripted resource appends before it answers.
func TestFaultInAConversationSaysWhetherItMayHaveAppended(t *testing.T) {
	for kind, c := range map[routertest.FaultKind]struct {
		status  int
		created bool
	}{
		routertest.FaultStatus:          {status: 429},
		routertest.FaultReset:           {created: true},
		routertest.FaultClose:           {created: true},
		routertest.FaultEmpty:           {created: true},
		routertest.FaultNull:            {created: true},
		routertest.FaultCutEvents:       {created: true},
		routertest.FaultFailed:          {created: true},
		routertest.FaultIncomplete:      {created: true},
		routertest.FaultNoTerminal:      {created: true},
		routertest.FaultNoOutput:        {created: true},
		routertest.FaultBrokenArguments: {created: true},
	} {
		t.Run(string(kind), func(t *testing.T) {
			p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", Conversations: []string{"conv_1"}})
			fault := routertest.Fault{Kind: kind, Status: c.status}
			if kind == routertest.FaultCutEvents {
				fault.AfterEvents = 3
			}
			if err := p.SetFaults(fault); err != nil {
				t.Fatal(err)
			}
			_, f := pinned(t, r, "a", inConversation)
			if f == nil || f.ProviderStateCreated != c.created {
				t.Fatalf("%+v, want provider_state_created %v", f, c.created)
			}
			if held := len(p.Resource("a").Conversation("conv_1")); held > 0 && !c.created {
				t.Errorf("it holds %d items", held)
			}
			if n := p.Attempts(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestConversationTakesTwoTurnsAndHoldsEachItemOnce(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", Conversations: []string{"conv_1"}})
	k := begin(t, r)
	for _, output := range []string{order, `{"status":"committed","ref":"rf-1"}`, ""} {
		items := k.items
		res, f := pinned(t, r, "a", func(req *onceward.ModelRequest) { req.Items, req.Conversation = items, "conv_1" })
		if f != nil {
			t.Fatal(f)
		}
		k.items = append(k.items, res.Items...)
		k.answer(res.Calls, output)
	}
	held := p.Resource("a").Conversation("conv_1")
	if len(held) != len(k.items) {
		t.Errorf("the conversation holds %d items, the transcript %d", len(held), len(k.items))
	}
	for _, item := range k.items {
		if item.Boundary != "" {
			t.Errorf("a sealed %s was asked for", item.Type)
		}
	}
}

func TestChatResourceCannotHoldARun(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", API: chatAPI})
	for want, ask := range map[string]func(*onceward.ModelRequest){
		"a conversation":          inConversation,
		"a previous response":     func(req *onceward.ModelRequest) { req.PreviousResponseID = "resp_1" },
		"message with input_file": aboutFile,
	} {
		_, f := pinned(t, r, "a", ask)
		if f == nil || f.Class != onceward.ClassUnsupportedCapability || !f.NotSent || f.ProviderStateCreated || !strings.Contains(f.Message, want) {
			t.Errorf("%s: %+v", want, f)
		}
	}
	if n := p.Attempts(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A caller who goes in the middle of a stream cannot know what was appended.
func TestCallerWhoGoesInAConversationLeavesItOpen(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", Conversations: []string{"conv_1"}})
	if err := p.SetFaults(routertest.Fault{Kind: routertest.FaultHangEvents, AfterEvents: 3}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer p.OnEvent(func(_ routertest.Request, e routertest.Event) {
		if e.N == 3 {
			cancel()
		}
	})()
	d := r.Select(onceward.RouteRequest{RunKey: "wf/1", Turn: 1, Models: []string{"m"}, Requirements: onceward.Requirements{OutputTokens: 1000}, Bytes: 1000})
	_, err := r.Call(ctx, onceward.ModelRequest{Route: *d.Route, Items: begin(t, r).items, Tools: tools, Conversation: "conv_1"})
	var f *onceward.Failure
	if !errors.As(err, &f) || f.Class != onceward.ClassCancelled || !f.ProviderStateCreated {
		t.Errorf("%v", err)
	}
}
