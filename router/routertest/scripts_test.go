package routertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

// turn returns the last output item of an answer: its call or its text.
func turn(t *testing.T, g got) (name, text string) {
	t.Helper()
	out := g.json(t)["output"].([]any)
	item := out[len(out)-1].(obj)
	if item["type"] == "function_call" {
		return item["name"].(string), item["arguments"].(string)
	}
	return "", item["content"].([]any)[0].(obj)["text"].(string)
}

func TestRefundModelPlaysTheStory(t *testing.T) {
	t.Parallel()
	const order = `{"order_id":"order-1842","amount_cents":12999}`
	p := start(t, routertest.RefundModel())
	play := func(offered []any, outputs ...string) (string, string) {
		input := []any{user("Please refund order-1842, it never came.")}
		for i, name := range []string{"get_order", "create_refund"} {
			if i < len(outputs) {
				id := "call_" + name
				input = append(input, fcall(id, name, "{}"), foutput(id, outputs[i]))
			}
		}
		return turn(t, post(t, p.Resource("A"), with(ask(input...), "tools", offered)))
	}
	both := tools("get_order", "create_refund")
	for _, c := range []struct {
		name     string
		offered  []any
		outputs  []string
		wantCall string
		wantText string
	}{
		{"reads the order first", both, nil, "get_order", `{"order_id":"order-1842"}`},
		{"refunds the amount it read", both, []string{order}, "create_refund", `"amount_cents":12999`},
		{"names ref and status", both, []string{order, `{"status":"committed","ref":"re_77"}`}, "", "status committed, reference re_77"},
		{"says a rejection", both, []string{order, `{"status":"rejected","reason":"too old"}`}, "", "was rejected: too old"},
		{"says a pending refund", both, []string{order, `{"status":"awaiting_operator","ref":null}`}, "", "status awaiting_operator and no reference yet"},
		{"says a read error", both, []string{`{"error":{"message":"no such order"}}`}, "", "could not read order-1842: no such order"},
		{"says an error that is no JSON", both, []string{"tool timed out"}, "", "tool timed out"},
		{"says a refund error", both, []string{order, `{"error":"conflict"}`}, "", "could not be made: conflict"},
		{"does not call what is not offered", tools("get_order"), []string{order}, "", "a refund cannot be made here"},
	} {
		name, text := play(c.offered, c.outputs...)
		if name != c.wantCall || !strings.Contains(text, c.wantText) {
			t.Errorf("%s: %q %s", c.name, name, text)
		}
	}
	_, one := play(both, order)
	_, two := play(both, order)
	if one == two {
		t.Errorf("the reason does not vary: %s", one)
	}
}

func TestQuizModelAnswersPerResource(t *testing.T) {
	t.Parallel()
	bad, empty := routertest.QuizModel(routertest.Quiz{Prose: true}), routertest.QuizModel(routertest.Quiz{Empty: true})
	p := start(t, routertest.QuizModel(routertest.Quiz{}), routertest.Resource{Name: "A"},
		routertest.Resource{Name: "prose", Model: &bad}, routertest.Resource{Name: "empty", Model: &empty})
	var quiz struct {
		Topic     string
		Questions []struct{ Question, Answer string }
	}
	answer := func(name string) string {
		_, text := turn(t, post(t, p.Resource(name), ask(user("Write a quiz. Topic: rivers of Europe"))))
		return text
	}
	if err := json.Unmarshal([]byte(answer("A")), &quiz); err != nil || quiz.Topic != "rivers of Europe" || len(quiz.Questions) != 3 || quiz.Questions[0].Answer == "" {
		t.Errorf("%+v %v", quiz, err)
	}
	if err := json.Unmarshal([]byte(answer("empty")), &quiz); err != nil || len(quiz.Questions) != 0 {
		t.Errorf("%+v %v", quiz, err)
	}
	if text := answer("prose"); json.Valid([]byte(text)) {
		t.Errorf("%s", text)
	}
}

const scripted = `{
  "resources": [{"name": "A", "deployments": ["m"], "faults": [{"kind": "status", "status": 429, "times": 1, "delay": "1ms"}]}, {"name": "B", "model": {"script": "quiz", "quiz": {"questions": 1}}}],
  "model": {"rules": [
    {"when": {"turn": 0, "first_user": "weather in (\\w+)"}, "reply": [{"reasoning": {"summary": "look it up"}}, {"call": {"name": "weather", "arguments": {"city": "${user.1}", "note": "try ${n}"}, "call_id": "call_1"}}]},
    {"when": {"last_output_of": "weather", "last_output": "degrees"}, "reply": [{"call": {"name": "convert", "arguments": {"value": "${output.weather.now.degrees}"}}}]},
    {"when": {"last_output_of": "broken"}, "reply": [{"call": {"name": "x", "arguments": "{\"cut"}}]}
  ]},
  "control": "127.0.0.1:0"
}`

func TestScriptFromJSON(t *testing.T) {
	t.Parallel()
	cfg, err := routertest.Load(strings.NewReader(scripted))
	if err != nil {
		t.Fatal(err)
	}
	p := routertest.Start(t, cfg)
	a := p.Resource("A")
	if g := post(t, a, ask(user("weather in Oslo"))); g.status != 429 {
		t.Errorf("the fault of the file: %d", g.status)
	}
	if name, args := turn(t, post(t, a, ask(user("the weather in Oslo?")))); name != "weather" || args != `{"city":"Oslo","note":"try 1"}` {
		t.Errorf("%s %s", name, args)
	}
	if name, args := turn(t, post(t, a, ask(user("q"), fcall("c", "weather", "{}"), foutput("c", `{"now":{"degrees":21.5}}`)))); name != "convert" || args != `{"value":21.5}` {
		t.Errorf("%s %s", name, args)
	}
	if _, args := turn(t, post(t, a, ask(user("q"), fcall("c", "broken", "{}"), foutput("c", `1`)))); args != `{"cut` {
		t.Errorf("%s", args)
	}
	g := post(t, a, ask(user("something else")))
	if _, code, _ := errorOf(t, g); g.status != 400 || code != "no_rule_matches" {
		t.Errorf("%d %s", g.status, g.body)
	}
	if _, text := turn(t, post(t, p.Resource("B"), ask(user("topic: seas")))); !strings.Contains(text, "Question 1 about seas") {
		t.Errorf("%s", text)
	}
}

func TestConfigurationErrorsNameTheirPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ json, want string }{
		"unknown key":      {`{"resorces":[]}`, "resorces"},
		"no resources":     {`{}`, "no resources"},
		"no name":          {`{"resources":[{}]}`, "no name"},
		"one name twice":   {`{"resources":[{"name":"A"},{"name":"A"}]}`, "used twice"},
		"unknown dialect":  {`{"resources":[{"name":"A","dialect":"x"}]}`, "dialect"},
		"unknown script":   {`{"resources":[{"name":"A"}],"model":{"script":"x"}}`, "script"},
		"bad expression":   {`{"resources":[{"name":"A"}],"model":{"rules":[{"name":"r","when":{"last_user":"("}}]}}`, `"r"`},
		"not loopback":     {`{"resources":[{"name":"A","addr":"0.0.0.0:0"}]}`, "loopback"},
		"control exposed":  {`{"resources":[{"name":"A"}],"control":":0"}`, "loopback"},
		"fault of nowhere": {`{"resources":[{"name":"A"}],"faults":[{"kind":"empty","resource":"Z"}]}`, `"Z"`},
	} {
		cfg, err := routertest.Load(strings.NewReader(c.json))
		if err == nil {
			var p *routertest.Pool
			if p, err = routertest.New(cfg); err == nil {
				p.Close()
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
