package router_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
)

const (
	chatAPI  = routertest.APIChatCompletions
	refunded = `{"status":"committed","ref":"re_77"}`
)

// refund plays the conversation of a refund, its three turns on the resources
// given.
func refund(t *testing.T, r *router.Router, resources ...string) (k *talk, turns []onceward.ModelResponse) {
	t.Helper()
	k = begin(t, r)
	for i, output := range []string{order, refunded, ""} {
		res, err := k.turn(t.Context(), resources[i])
		if err != nil {
			t.Fatalf("turn %d on %s: %v", i+1, resources[i], err)
		}
		k.answer(res.Calls, output)
		turns = append(turns, res)
	}
	if len(turns[0].Calls) != 1 || turns[0].Calls[0].Name != "get_order" || len(turns[1].Calls) != 1 || turns[1].Calls[0].Name != "create_refund" ||
		!strings.Contains(turns[1].Calls[0].Arguments, "4200") || !strings.Contains(turns[2].Text, "re_77") {
		t.Fatalf("turns %+v", turns)
	}
	return k, turns
}

func TestRefundOnAChatResource(t *testing.T) {
	for name, res := range map[string]routertest.Resource{
		"of Azure":            {Name: "a", API: chatAPI},
		"of OpenAI":           {Name: "a", API: chatAPI, Dialect: routertest.DialectOpenAI},
		"of a compatible one": {Name: "a", API: chatAPI, Dialect: routertest.DialectCompatible},
		"that answers JSON":   {Name: "a", API: chatAPI, Faults: []routertest.Fault{{Kind: routertest.FaultJSON}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, r := scripted(t, router.Config{}, res)
			_, turns := refund(t, r, "a", "a", "a")
			for i, turn := range turns {
				if !turn.Usage.Known || turn.CostBasis != onceward.CostMeasured || turn.Cost == 0 || turn.ReasoningStripped || turn.ProviderRequestID == "" {
					t.Errorf("turn %d: %+v", i+1, turn)
				}
			}
			if turns[2].Usage.CachedTokens == 0 {
				t.Error("the prompt cache was never hit: the prefix changes from turn to turn")
			}
			if n := p.Attempts(); n != 3 {
				t.Errorf("%d requests for 3 turns", n)
			}
			last := p.Requests()[2]
			if last.Header.Get("Content-Type") != "application/json" || len(last.Body.Tools) != 2 || last.Body.MaxOutputTokens != 1000 {
				t.Errorf("request %+v", last)
			}
		})
	}
}

// A run's turns go wherever a resource is left: the transcript has one form.
func TestMixedPoolServesOneConversation(t *testing.T) {
	for name, c := range map[string]struct {
		turns    [3]string
		stripped [3]bool
	}{
		"responses, chat, responses":         {[3]string{"a", "chat", "a"}, [3]bool{false, true, false}},
		"responses, chat, another responses": {[3]string{"a", "chat", "b"}, [3]bool{false, true, true}},
		"chat, responses, chat":              {[3]string{"chat", "a", "chat"}, [3]bool{false, false, true}},
		"one chat after another":             {[3]string{"chat", "old", "a"}, [3]bool{false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a"}, routertest.Resource{Name: "b"},
				routertest.Resource{Name: "chat", API: chatAPI}, routertest.Resource{Name: "old", API: chatAPI, Dialect: routertest.DialectCompatible})
			k, turns := refund(t, r, c.turns[:]...)
			for i, turn := range turns {
				if turn.ReasoningStripped != c.stripped[i] {
					t.Errorf("turn %d on %s: reasoning stripped %v", i+1, c.turns[i], turn.ReasoningStripped)
				}
				for _, item := range turn.Items {
					if chat := c.turns[i] == "chat" || c.turns[i] == "old"; chat && (item.ID != "" || item.Boundary != "") {
						t.Errorf("item of a chat resource has id %q and boundary %q", item.ID, item.Boundary)
					}
				}
			}
			if n := p.Attempts(); n != 3 {
				t.Errorf("%d requests for 3 turns", n)
			}
			var names []string
			for _, item := range k.items {
				if item.Type != "reasoning" {
					names = append(names, item.Type)
				}
			}
			if want := []string{"message", "function_call", "function_call_output", "function_call", "function_call_output", "message"}; !slices.Equal(names, want) {
				t.Errorf("transcript %v", names)
			}
			for _, req := range p.Requests() {
				raw := string(req.Raw)
				if strings.HasSuffix(req.Path, "/chat/completions") && (strings.Contains(raw, "encrypted_content") || strings.Contains(raw, "fc_") || strings.Contains(raw, `"store"`)) {
					t.Errorf("sent to chat: %s", raw)
				}
			}
		})
	}
}

func TestChatResourceIsNotChosenForWhatItCannotCarry(t *testing.T) {
	_, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", API: chatAPI})
	for want, req := range map[string]onceward.RouteRequest{
		"image_input":                {Requirements: onceward.Requirements{ImageInput: true}},
		"list_output":                {Requirements: onceward.Requirements{ListOutput: true}},
		"hosted_tools: need browser": {Requirements: onceward.Requirements{HostedTools: []string{"browser"}}},
		"may not be left out":        {Boundaries: []string{"a"}, CrossBoundary: "fail"},
	} {
		req.Models, req.RunKey = []string{"m"}, "wf/1"
		d := r.Select(req)
		if d.Route != nil || len(d.Dropped) != 1 || !strings.Contains(d.Dropped[0].Reason, want) {
			t.Errorf("%s: %+v", want, d)
		}
	}
}

func TestWhatChatCannotCarryIsNotSent(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", API: chatAPI})
	for want, raw := range map[string]string{
		"message with input_image":     `{"role":"user","content":[{"type":"input_image","image_url":"https://x.example/i.png"}]}`,
		"item of type web_search_call": `{"type":"web_search_call","id":"ws_1","status":"completed"}`,
		"item of type compaction":      `{"type":"compaction","id":"cmp_1","encrypted_content":"gA"}`,
	} {
		k := begin(t, r)
		item, err := onceward.NewItem([]byte(raw), "")
		if err != nil {
			t.Fatal(err)
		}
		k.items = append(k.items, item)
		res, err := k.turn(t.Context(), "a")
		var f *onceward.Failure
		if !errors.As(err, &f) || f.Class != onceward.ClassUnsupportedCapability || !f.NotSent || !f.FallbackEligible || f.Retryable ||
			f.Phase != onceward.PhasePrepare || !strings.Contains(f.Message, want) || res.Cost != 0 {
			t.Errorf("%s: %+v, cost %d", want, f, res.Cost)
		}
	}
	if n := p.Attempts(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestCallWithoutItsOutputNeverReachesAChatResource(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", API: chatAPI})
	k := begin(t, r)
	if _, err := k.turn(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	got, err := k.turn(t.Context(), "a") // the call has no output
	if err != nil || len(got.Notices) == 0 || !strings.HasPrefix(got.Notices[0], "lint: left out function_call ") {
		t.Errorf("%v, notices %q", err, got.Notices)
	}
	if n := p.Attempts(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestStructuredAnswerOfAChatResource(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", API: chatAPI})
	if err := p.SetModel("", routertest.QuizModel(routertest.Quiz{})); err != nil {
		t.Fatal(err)
	}
	k := begin(t, r)
	d := r.Select(onceward.RouteRequest{RunKey: "wf/1", Models: []string{"m"}, Requirements: onceward.Requirements{OutputTokens: 1000, StrictSchema: true}})
	res, err := r.Call(t.Context(), onceward.ModelRequest{
		Route: *d.Route, Items: k.items,
		Output: &onceward.OutputDecl{Name: "quiz", Schema: []byte(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)},
		Check: func(text string) error {
			if !json.Valid([]byte(text)) {
				return errors.New("not JSON")
			}
			return nil
		},
	})
	if err != nil || !strings.Contains(res.Text, "questions") {
		t.Errorf("%+v, %v", res, err)
	}
	if raw := string(p.Requests()[0].Raw); !strings.Contains(raw, `"response_format":{"type":"json_schema","json_schema":{"name":"quiz"`) {
		t.Errorf("request %s", raw)
	}
}

func TestTestOfAChatResource(t *testing.T) {
	p, r := scripted(t, router.Config{}, routertest.Resource{Name: "a", API: chatAPI})
	if test, err := r.Test(t.Context(), "a", "m", 0); err != nil || !test.Passed || p.Attempts() != 0 || len(p.Neutrals()) != 1 {
		t.Errorf("%+v, %v after %d attempts and %d neutral requests", test, err, p.Attempts(), len(p.Neutrals()))
	}
}
