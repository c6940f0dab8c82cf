package routertest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
)

var (
	orderID = regexp.MustCompile(`order-[A-Za-z0-9-]+`)
	topic   = regexp.MustCompile(`(?i)\btopic\b\s*[:=]?\s*["']?([^"'\n.?!]+)`)
)

// refundReasons vary from call to call, as a model's wording does: a reason is
// free text, and an action that depended on it would be done twice.
var refundReasons = []string{
	"The parcel never arrived.",
	"Customer says the order was not delivered.",
	"Non-delivery confirmed; goodwill refund.",
	"Lost in transit according to the customer.",
}

// RefundModel plays a refund agent. The first user message names an order
// (order-...). It calls get_order {order_id}; with amount_cents from that
// output it calls create_refund {order_id, amount_cents, reason}, the reason
// worded differently each time; with ref and status from that output it
// answers in text. Errors in tool outputs end in a text that says so. It
// calls only tools that the request offers. When the request includes
// reasoning.encrypted_content every turn begins with a sealed reasoning item.
func RefundModel() Model {
	var n atomic.Int64
	return Model{Rules: []Rule{{
		Name:      "refund",
		ReplyFunc: func(req Request) []Out { return withReasoning(req, refundTurn(req, &n)) },
	}}}
}

// withReasoning puts a reasoning item first when the client asks for sealed ones.
func withReasoning(req Request, out Out) []Out {
	if !req.Includes(sealInclude) {
		return []Out{out}
	}
	return []Out{{Reasoning: &Reasoning{}}, out}
}

func refundTurn(req Request, n *atomic.Int64) Out {
	order := orderID.FindString(req.FirstUser())
	if order == "" {
		return Say("Which order is this about? Please send the order id.")
	}
	if out, ok := req.OutputOf("create_refund"); ok {
		return Say(refundAnswer(order, out))
	}
	out, ok := req.OutputOf("get_order")
	if !ok {
		if !req.HasTool("get_order") {
			return Say(fmt.Sprintf("I cannot look up %s here.", order))
		}
		return CallTool("get_order", map[string]any{"order_id": order})
	}
	var got struct {
		AmountCents *json.Number `json:"amount_cents"`
	}
	if msg := toolError(out); msg != "" {
		return Say(fmt.Sprintf("I could not read %s: %s. No refund was made.", order, msg))
	}
	if json.Unmarshal([]byte(out), &got) != nil || got.AmountCents == nil {
		return Say(fmt.Sprintf("The record of %s has no amount. No refund was made.", order))
	}
	if !req.HasTool("create_refund") {
		return Say(fmt.Sprintf("%s can be read, but a refund cannot be made here.", order))
	}
	i := n.Add(1)
	return CallTool("create_refund", struct {
		OrderID     string      `json:"order_id"`
		AmountCents json.Number `json:"amount_cents"`
		Reason      string      `json:"reason"`
	}{order, *got.AmountCents, fmt.Sprintf("%s (note %d)", refundReasons[int(i-1)%len(refundReasons)], i)})
}

func refundAnswer(order, out string) string {
	if msg := toolError(out); msg != "" {
		return fmt.Sprintf("The refund of %s could not be made: %s.", order, msg)
	}
	var got struct{ Status, Ref, Reason string }
	if json.Unmarshal([]byte(out), &got) != nil || got.Status == "" {
		return fmt.Sprintf("The refund of %s has no clear result: %s", order, clip(out, 200))
	}
	switch {
	case got.Status == "rejected":
		return fmt.Sprintf("The refund of %s was rejected: %s.", order, orElse(got.Reason, "no reason was given"))
	case got.Ref == "":
		return fmt.Sprintf("The refund of %s has status %s and no reference yet.", order, got.Status)
	default:
		return fmt.Sprintf("The refund of %s has status %s, reference %s.", order, got.Status, got.Ref)
	}
}

// toolError returns the error that a tool output reports, or "".
func toolError(out string) string {
	var v map[string]json.RawMessage
	if json.Unmarshal([]byte(out), &v) != nil {
		return clip(orElse(strings.TrimSpace(out), "the tool gave no output"), 200)
	}
	raw := v["error"]
	switch jsonKind(raw) {
	case "nothing", "null":
		return ""
	case "a string":
		return str(raw)
	case "an object":
		return orElse(str(field(raw, "message")), string(raw))
	default:
		return string(raw)
	}
}

// Quiz configures QuizModel. The zero value asks three questions in JSON.
type Quiz struct {
	// Questions is how many are asked; 0: three.
	Questions int `json:"questions,omitempty"`
	// Empty answers JSON with no question in it.
	Empty bool `json:"empty,omitempty"`
	// Prose answers a sentence where JSON was asked for.
	Prose bool `json:"prose,omitempty"`
}

// QuizModel writes a quiz: it answers
// {"topic":...,"questions":[{"question":...,"answer":...},...]} for the topic in
// the last user message (after the word topic, in a JSON key "topic", or the
// whole message). Give a resource its own quiz to make it answer badly.
func QuizModel(q Quiz) Model {
	return Model{Rules: []Rule{{
		Name:      "quiz",
		ReplyFunc: func(req Request) []Out { return withReasoning(req, Say(q.answer(quizTopic(req.LastUser())))) },
	}}}
}

func quizTopic(text string) string {
	if t := str(field(json.RawMessage(text), "topic")); t != "" {
		return t
	}
	if m := topic.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return clip(orElse(strings.TrimSpace(text), "general knowledge"), 80)
}

func (q Quiz) answer(topic string) string {
	if q.Prose {
		return fmt.Sprintf("Sure! Here are some great questions about %s for your quiz night.", topic)
	}
	type pair struct {
		Question string `json:"question"`
		Answer   string `json:"answer"`
	}
	n := q.Questions
	if n <= 0 {
		n = 3
	}
	if q.Empty {
		n = 0
	}
	pairs := []pair{}
	for i := range n {
		pairs = append(pairs, pair{fmt.Sprintf("Question %d about %s?", i+1, topic), fmt.Sprintf("Answer %d", i+1)})
	}
	return string(encode(struct {
		Topic     string `json:"topic"`
		Questions []pair `json:"questions"`
	}{topic, pairs}))
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "..."
}
