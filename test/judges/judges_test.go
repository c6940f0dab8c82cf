// Package judges holds the router and the scripted pool against what others
// made: published API documents, recorded traffic, the clients of other
// languages, a proxy that breaks connections and another scripted resource.
package judges

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
)

// casesVariable names the folder of cases, which is not part of this
// repository. The product refuses unknown variables of its own prefix, so it
// has another.
const casesVariable = "CORPUS_CASES"

// cases returns a path in the folder of cases, or skips the test.
func cases(t testing.TB, path ...string) string {
	t.Helper()
	dir := os.Getenv(casesVariable)
	if dir == "" {
		t.Skip(casesVariable + " is not set: make corpus CASES=folder sets it")
	}
	found := filepath.Join(append([]string{dir}, path...)...)
	if _, err := os.Stat(found); err != nil {
		t.Skipf("the folder of cases lacks %s", filepath.Join(path...))
	}
	return found
}

const model = "gpt-5.6"

// able is a deployment that can do everything.
func able() onceward.Capability {
	return onceward.Capability{
		Version: "1", MaxInputTokens: 272000, MaxOutputTokens: 32000, ToolCalling: true, ParallelTools: true,
		StrictSchema: true, EncryptedReasoning: true, ListOutput: true,
	}
}

// resource makes a resource of the router at an address.
func resource(name, base string, can onceward.Capability) router.Resource {
	return router.Resource{
		Name: name, Kind: router.KindOpenAI, BaseURL: base, Key: "sk-judge",
		Deployments: []router.Deployment{{Model: model, Free: true, Capability: can}},
	}
}

// routerOf makes a router; no failure of one attempt hides a resource from the next.
func routerOf(t testing.TB, resources ...router.Resource) *router.Router {
	t.Helper()
	cfg := router.Config{Resources: resources, Breaker: router.Breaker{Failures: 1000, Consecutive: 1000}}
	r, err := router.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// to returns the route to a resource, whatever its health.
func to(resource string) onceward.Route {
	return onceward.Route{Resource: resource, Model: model, Deployment: model, Boundary: resource, InputTokens: 1000, MaxOutputTokens: 4000}
}

// patient are timeouts that no healthy answer meets, on a slow machine either.
func patient() onceward.Timeouts {
	return onceward.Timeouts{FirstEvent: time.Minute, Idle: time.Minute, Attempt: 2 * time.Minute}
}

// call makes one attempt; a nil failure is a success.
func call(t testing.TB, r *router.Router, req onceward.ModelRequest) (onceward.ModelResponse, *onceward.Failure) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	res, err := r.Call(ctx, req)
	if err == nil {
		return res, nil
	}
	var f *onceward.Failure
	if !errors.As(err, &f) {
		t.Fatalf("the error is no failure: %v", err)
	}
	return res, f
}

func mustCall(t testing.TB, r *router.Router, req onceward.ModelRequest) onceward.ModelResponse {
	t.Helper()
	res, f := call(t, r, req)
	if f != nil {
		t.Fatalf("call: %s", f.Error())
	}
	return res
}

func text(t testing.TB, role, s string) onceward.Item {
	t.Helper()
	item, err := onceward.Text(role, s)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func item(t testing.TB, raw, boundary string) onceward.Item {
	t.Helper()
	made, err := onceward.NewItem([]byte(raw), boundary)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func output(t testing.TB, callID, s string) onceward.Item {
	t.Helper()
	made, err := onceward.CallOutput(callID, s)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// refundTools are the tools that the refund script calls.
func refundTools() []onceward.ToolDecl {
	return []onceward.ToolDecl{
		{Name: "get_order", Description: "Read an order.",
			Schema: []byte(`{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"],"additionalProperties":false}`)},
		{Name: "create_refund",
			Schema: []byte(`{"type":"object","properties":{"order_id":{"type":"string"},"amount_cents":{"type":"integer"},"reason":{"type":["string","null"]}},"required":["order_id","amount_cents","reason"],"additionalProperties":false}`)},
	}
}

// toolOutputs are what the refund script's tools answer.
var toolOutputs = map[string]string{
	"get_order":     `{"order_id":"order-1842","amount_cents":4250,"status":"delivered"}`,
	"create_refund": `{"status":"committed","ref":"rf_1"}`,
}

// refund runs the refund conversation over the routes, one a turn, the last one
// for all further turns, and returns the last text and the transcript.
func refund(t testing.TB, r *router.Router, routes ...string) (string, []onceward.Item) {
	t.Helper()
	items := []onceward.Item{text(t, "user", "Please refund order-1842 <now> & tell me, 谢谢 😀.")}
	for turn := range 6 {
		res := mustCall(t, r, onceward.ModelRequest{
			Route: to(routes[min(turn, len(routes)-1)]), RunKey: "run/1", Instructions: "Refund at most once.",
			Items: items, Tools: refundTools(), Timeouts: patient(),
		})
		items = append(items, res.Items...)
		if len(res.Calls) == 0 {
			return res.Text, items
		}
		for _, c := range res.Calls {
			items = append(items, output(t, c.CallID, toolOutputs[c.Name]))
		}
	}
	t.Fatal("the conversation has no end")
	return "", nil
}

// resources makes scripted resources by name, each an encryption boundary.
func resources(names ...string) []routertest.Resource {
	list := make([]routertest.Resource, len(names))
	for i, name := range names {
		list[i] = routertest.Resource{Name: name, Dialect: routertest.DialectOpenAI}
	}
	return list
}
