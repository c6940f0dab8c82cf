package routertest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

func refundPool(t *testing.T) *routertest.Pool {
	t.Helper()
	return start(t, routertest.RefundModel(),
		routertest.Resource{Name: "A"}, routertest.Resource{Name: "B"},
		routertest.Resource{Name: "A2", EncryptionBoundary: "A"},
		routertest.Resource{Name: "O", Dialect: routertest.DialectOpenAI})
}

func tools(names ...string) []any {
	var out []any
	for _, n := range names {
		out = append(out, obj{"type": "function", "name": n, "parameters": obj{"type": "object"}})
	}
	return out
}

func TestStoredResponseIsKnownToItsResourceOnly(t *testing.T) {
	t.Parallel()
	p := refundPool(t)
	first := obj{"model": "m", "input": "refund order-9", "tools": tools("get_order", "create_refund")}
	r := post(t, p.Resource("A"), first).json(t)
	id := r["id"].(string)
	call := r["output"].([]any)[0].(obj)
	next := obj{"model": "m", "previous_response_id": id, "tools": first["tools"], "input": []any{foutput(call["call_id"].(string), `{"amount_cents":500}`)}}

	g := post(t, p.Resource("B"), next)
	if m, _, _ := errorOf(t, g); g.status != 400 || m != "The requested item was created under a different Azure OpenAI resource. Use the same resource that created the item to access it." {
		t.Errorf("another resource: %d %s", g.status, g.body)
	}
	g = post(t, p.Resource("O"), next)
	if _, code, _ := errorOf(t, g); g.status != 400 || code != "previous_response_not_found" {
		t.Errorf("another resource in the other dialect: %d %s", g.status, g.body)
	}
	g = post(t, p.Resource("A"), next)
	if g.status != 200 || g.json(t)["output"].([]any)[0].(obj)["name"] != "create_refund" {
		t.Errorf("its own resource: %d %s", g.status, g.body)
	}
	get := func(name string) int {
		return do(t, within(t), http.MethodGet, p.Resource(name).URL()+"responses/"+id, nil).status
	}
	if a, b := get("A"), get("B"); a != 200 || b != 404 {
		t.Errorf("GET: %d on its own resource, %d on another", a, b)
	}
	if g := do(t, within(t), http.MethodDelete, p.Resource("A").URL()+"responses/"+id, nil); g.status != 200 || get("A") != 404 {
		t.Errorf("DELETE: %d, then GET %d", g.status, get("A"))
	}
}

func TestResponseIsNotKeptUnderStoreFalse(t *testing.T) {
	t.Parallel()
	p := refundPool(t)
	id := post(t, p.Resource("A"), ask(user("hi"))).json(t)["id"]
	g := post(t, p.Resource("A"), with(ask(user("more")), "previous_response_id", id))
	if _, code, _ := errorOf(t, g); code != "previous_response_not_found" {
		t.Errorf("%d %s", g.status, g.body)
	}
}

func TestItemOfAnotherResourceIsRefusedUnderStoreTrue(t *testing.T) {
	t.Parallel()
	p := refundPool(t)
	item := post(t, p.Resource("A"), obj{"model": "m", "input": "hi"}).json(t)["output"].([]any)[0]
	full := []any{user("hi"), item, user("more")}
	ref := []any{user("hi"), obj{"type": "item_reference", "id": item.(obj)["id"]}, user("more")}
	for _, c := range []struct {
		name, resource string
		input          []any
		store          bool
		status         int
	}{
		{"full item on its resource", "A", full, true, 200},
		{"reference on its resource", "A", ref, true, 200},
		{"full item elsewhere, stored", "B", full, true, 400},
		{"reference elsewhere, stored", "B", ref, true, 400},
		{"full item elsewhere, not stored", "B", full, false, 200},
		{"hosted call elsewhere, not stored", "B", []any{user("hi"), obj{"type": "web_search_call", "id": "ws_" + strings.TrimPrefix(item.(obj)["id"].(string), "msg_"), "status": "completed"}}, false, 400},
	} {
		g := post(t, p.Resource(c.resource), obj{"model": "m", "store": c.store, "input": c.input})
		if g.status != c.status || (c.status == 400 && !strings.Contains(g.body, "different Azure OpenAI resource")) {
			t.Errorf("%s: %d %s", c.name, g.status, g.body)
		}
	}
}

// sealedTurn returns the output of a first turn of the refund script on A.
func sealedTurn(t *testing.T, p *routertest.Pool) (reasoning, call obj) {
	t.Helper()
	body := with(with(ask(user("refund order-7")), "include", []string{"reasoning.encrypted_content"}), "tools", tools("get_order", "create_refund"))
	out := post(t, p.Resource("A"), body).json(t)["output"].([]any)
	if len(out) != 2 {
		t.Fatalf("output %v", out)
	}
	return out[0].(obj), out[1].(obj)
}

func TestSealedReasoningOpensInsideItsBoundaryOnly(t *testing.T) {
	t.Parallel()
	p := refundPool(t)
	rs, call := sealedTurn(t, p)
	out := foutput(call["call_id"].(string), `{"amount_cents":5}`)
	next := ask(user("refund order-7"), rs, call, out)
	for name, want := range map[string]int{"A": 200, "A2": 200, "B": 400, "O": 400} {
		g := post(t, p.Resource(name), next)
		if g.status != want {
			t.Errorf("%s: %d %s", name, g.status, g.body)
		}
		if want == 400 {
			if _, code, _ := errorOf(t, g); code != "invalid_encrypted_content" {
				t.Errorf("%s: %s", name, g.body)
			}
		}
	}
	delete(call, "id")
	if g := post(t, p.Resource("B"), ask(user("refund order-7"), call, out)); g.status != 200 {
		t.Errorf("stripped and without ids on another boundary: %d %s", g.status, g.body)
	}
}

func TestReasoningAndItsItemComeTogether(t *testing.T) {
	t.Parallel()
	p := refundPool(t)
	rs, call := sealedTurn(t, p)
	out := foutput(call["call_id"].(string), `{"amount_cents":5}`)
	for _, c := range []struct {
		name  string
		input []any
		want  string
	}{
		{"reasoning alone", []any{user("refund order-7"), rs}, "Item '" + rs["id"].(string) + "' of type 'reasoning' was provided without its required following item."},
		{"reasoning before a user message", []any{user("refund order-7"), rs, user("well?")}, "without its required following item."},
		{"call with its id, reasoning gone", []any{user("refund order-7"), call, out}, "Item '" + call["id"].(string) + "' of type 'function_call' was provided without its required 'reasoning' item: '" + rs["id"].(string) + "'."},
	} {
		g := post(t, p.Resource("A"), ask(c.input...))
		if m, _, _ := errorOf(t, g); g.status != 400 || !strings.Contains(m, c.want) {
			t.Errorf("%s: %d %s", c.name, g.status, g.body)
		}
	}
}

func TestCompactionOfAnotherBoundaryIsNamedInTheError(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{{Compaction: true}}}}},
		routertest.Resource{Name: "A"}, routertest.Resource{Name: "B"})
	item := post(t, p.Resource("A"), ask(user("hi"))).json(t)["output"].([]any)[0].(obj)
	if g := post(t, p.Resource("A"), ask(item, user("more"))); g.status != 200 {
		t.Errorf("%d %s", g.status, g.body)
	}
	g := post(t, p.Resource("B"), ask(item, user("more")))
	if m, _, _ := errorOf(t, g); g.status != 400 || !strings.Contains(m, "The encrypted content for item "+item["id"].(string)) {
		t.Errorf("%d %s", g.status, g.body)
	}
}

func TestRoundRobinOverStoredResponsesFailsMostTurns(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.RefundModel(), routertest.Resource{Name: "A"}, routertest.Resource{Name: "B"}, routertest.Resource{Name: "C"})
	var failed, all int
	for run := range 6 { // each run begins where the last one stopped, as a rotating client does
		turn := run
		send := func(body obj) obj {
			for {
				g := post(t, p.Resources()[turn%3], body)
				turn++
				all++
				if g.status == 200 {
					return g.json(t)
				}
				failed++
			}
		}
		r := send(obj{"model": "m", "input": "refund order-1", "tools": tools("get_order", "create_refund")})
		call := r["output"].([]any)[0].(obj)
		send(obj{"model": "m", "previous_response_id": r["id"], "input": []any{foutput(call["call_id"].(string), `{"amount_cents":5}`)}})
	}
	if failed != 12 || all != 24 {
		t.Errorf("%d of %d requests failed; two turns over three resources fail two of four", failed, all)
	}
}
