package routertest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

func pinnedPool(t *testing.T) *routertest.Pool {
	t.Helper()
	return start(t, routertest.RefundModel(),
		routertest.Resource{Name: "A", Files: []string{"file-1"}, Conversations: []string{"conv_1"}},
		routertest.Resource{Name: "B", Files: []string{"file-2"}})
}

func withFile(id string) obj {
	return obj{"type": "message", "role": "user", "content": []any{obj{"type": "input_text", "text": "hi"}, obj{"type": "input_file", "file_id": id}}}
}

func TestFileIsKnownToItsResourceOnly(t *testing.T) {
	t.Parallel()
	p := pinnedPool(t)
	if g := post(t, p.Resource("A"), ask(withFile("file-1"))); g.status != 200 {
		t.Errorf("its own resource: %d %s", g.status, g.body)
	}
	g := post(t, p.Resource("B"), ask(user("a"), withFile("file-1")))
	if m, code, param := errorOf(t, g); g.status != 404 || code != "file_not_found" || param != "input[1].content[1].file_id" || !strings.Contains(m, "file-1") {
		t.Errorf("another resource: %d %s", g.status, g.body)
	}
}

// The conversation is what lasts: a request brings only what is new, and answers
// that were lost on their way are there all the same.
func TestConversationHoldsRequestAndAnswer(t *testing.T) {
	t.Parallel()
	p := pinnedPool(t)
	a := p.Resource("A")
	body := func(input ...any) obj {
		return obj{"model": "m", "conversation": "conv_1", "input": input, "tools": tools("get_order", "create_refund")}
	}
	types := func() (out []string) {
		for _, it := range a.Conversation("conv_1") {
			out = append(out, it.Type)
		}
		return out
	}
	first := post(t, a, body(user("refund order-9"))).json(t)
	if ref, _ := first["conversation"].(obj); ref["id"] != "conv_1" {
		t.Errorf("the response names the conversation %v", first["conversation"])
	}
	held := a.Conversation("conv_1")
	call := held[len(held)-1]
	if call.Type != "function_call" {
		t.Fatalf("the conversation holds %v", types())
	}
	cut := routertest.Fault{Kind: routertest.FaultCutEvents, AfterEvents: 3}
	if err := p.SetFaults(cut.For(1)); err != nil {
		t.Fatal(err)
	}
	g := post(t, a, streamed(body(foutput(call.CallID, `{"amount_cents":500}`))))
	if g.err == nil && slices.Contains(g.types(), "response.completed") {
		t.Fatalf("the stream was not cut: %v", g.types())
	}
	if got := types(); len(got) < 4 || got[len(got)-1] != "function_call" || got[len(held)] != "function_call_output" {
		t.Errorf("after the cut it holds %v, want the output and the next call as well", got)
	}
	if g := post(t, a, body(foutput(call.CallID, `{"amount_cents":500}`))); g.status != 400 || !strings.Contains(g.body, "Duplicate item") {
		t.Errorf("the same output again: %d %s", g.status, g.body)
	}
	n := len(types())
	for name, c := range map[string]struct {
		server *routertest.Server
		body   obj
		status int
		text   string
	}{
		"another resource":                   {p.Resource("B"), body(user("hi")), 404, "Conversation with id 'conv_1' not found."},
		"an object names it too":             {p.Resource("B"), with(body(user("hi")), "conversation", obj{"id": "conv_1"}), 404, "Conversation with id 'conv_1' not found."},
		"with a previous response too":       {a, with(body(user("hi")), "previous_response_id", "resp_1"), 400, "mutually_exclusive_parameters"},
		"it goes into no answer that failed": {a, body(user("hi")), 400, "No tool output found"},
	} {
		if g := post(t, c.server, c.body); g.status != c.status || !strings.Contains(g.body, c.text) {
			t.Errorf("%s: %d %s", name, g.status, g.body)
		}
	}
	if got := types(); len(got) != n {
		t.Errorf("refused requests were appended: %v", got)
	}
}

func TestChatResourceHasNoFilesAndNoConversations(t *testing.T) {
	t.Parallel()
	for _, r := range []routertest.Resource{
		{Name: "A", API: routertest.APIChatCompletions, Files: []string{"file-1"}},
		{Name: "A", API: routertest.APIChatCompletions, Conversations: []string{"conv_1"}},
	} {
		if p, err := routertest.New(routertest.Config{Resources: []routertest.Resource{r}}); err == nil {
			p.Close()
			t.Errorf("%+v was taken", r)
		}
	}
}

// What clients make and read beside responses: a conversation with items in it,
// more items, and lists of them page by page.
func TestConversationsAreMadeFilledAndListed(t *testing.T) {
	t.Parallel()
	s := start(t, routertest.RefundModel(), routertest.Resource{Name: "A"}).Resource("A")
	send := func(path string, body any) got { return postTo(t, s.URL()+path, body) }
	list := func(path string) got { return do(t, within(t), "GET", s.URL()+path, nil) }
	id, _ := send("conversations", obj{"items": []any{user("refund order-9")}, "metadata": obj{"k": "v"}}).json(t)["id"].(string)
	if !strings.HasPrefix(id, "conv_") {
		t.Fatalf("made as %q", id)
	}
	if g := send("conversations/"+id+"/items", obj{"items": []any{user("quickly"), user("please")}}); g.status != 200 || len(g.json(t)["data"].([]any)) != 2 {
		t.Errorf("added: %d %s", g.status, g.body)
	}
	answer := send("responses", obj{"model": "m", "conversation": id, "input": []any{user("now")}, "client_metadata": obj{"session_id": "s"}, "tools": tools("get_order")}).json(t)
	texts := func(g got) (out []string) {
		for _, one := range g.json(t)["data"].([]any) {
			it := one.(obj)
			if it["id"] == "" || it["status"] != "completed" {
				t.Errorf("listed as %v", it)
			}
			if parts, ok := it["content"].([]any); ok {
				out = append(out, parts[0].(obj)["text"].(string))
				continue
			}
			out = append(out, it["type"].(string))
		}
		return out
	}
	want := []string{"refund order-9", "quickly", "please", "now", "function_call"}
	if got := texts(list("conversations/" + id + "/items?order=asc")); !slices.Equal(got, want) {
		t.Errorf("the conversation lists %q", got)
	}
	if got := texts(list("responses/" + answer["id"].(string) + "/input_items?order=asc")); !slices.Equal(got, want[:4]) {
		t.Errorf("the input lists %q", got)
	}
	page := list("conversations/" + id + "/items?limit=2")
	if got := texts(page); !slices.Equal(got, []string{"function_call", "now"}) || page.json(t)["has_more"] != true {
		t.Errorf("the first page is %s", page.body)
	}
	page = list("conversations/" + id + "/items?limit=3&after=" + page.json(t)["last_id"].(string))
	if got := texts(page); !slices.Equal(got, []string{"please", "quickly", "refund order-9"}) || page.json(t)["has_more"] != false {
		t.Errorf("the last page is %s", page.body)
	}
	for name, c := range map[string]struct {
		got    got
		status int
		text   string
	}{
		"unknown conversation":          {send("conversations/conv_x/items", obj{"items": []any{user("a")}}), 404, "conv_x"},
		"list of unknown conversation":  {list("conversations/conv_x/items"), 404, "conv_x"},
		"input of unknown response":     {list("responses/resp_x/input_items"), 404, "resp_x"},
		"no items":                      {send("conversations/"+id+"/items", obj{}), 400, "Missing required parameter: 'items'"},
		"a parameter that it lacks":     {send("conversations", obj{"itmes": []any{}}), 400, "Unknown parameter: 'itmes'"},
		"an item that is none":          {send("conversations", obj{"items": []any{obj{"type": "thought"}}}), 400, "items[0]"},
		"client_metadata of wrong kind": {send("responses", with(ask(user("a")), "client_metadata", "s")), 400, "client_metadata"},
		"an order that it lacks":        {list("conversations/" + id + "/items?order=up"), 400, "'up'"},
		"after what it does not hold":   {list("conversations/" + id + "/items?after=msg_x"), 400, "msg_x"},
	} {
		if c.got.status != c.status || !strings.Contains(c.got.body, c.text) {
			t.Errorf("%s: %d %s", name, c.got.status, c.got.body)
		}
	}
}
