package judges

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
)

// deviation is a complaint that is known and meant.
type deviation struct {
	spec, about string // about: request, response, or an event's type
	has         string // part of the complaint
	reason      string
	recorded    bool // recorded traffic draws the same complaint
}

// matches reports whether a complaint is this deviation.
func (d deviation) matches(spec, about, complaint string) bool {
	return d.spec == spec && (d.about == about || d.about == "") && strings.Contains(complaint, d.has)
}

// jury collects complaints and holds them against the known deviations.
type jury struct {
	specs   []*spec
	judged  map[string]int
	against map[string]string // complaint, and an example of it
}

func newJury(t *testing.T) *jury {
	return &jury{
		specs:  []*spec{loadSpec(t, openAI), loadSpec(t, openResponses)},
		judged: map[string]int{}, against: map[string]string{},
	}
}

func (j *jury) hear(s *spec, about string, complaints []string, example []byte) {
	j.judged[s.name+" "+about]++
	for _, c := range complaints {
		key := s.name + "\x00" + about + "\x00" + c
		if _, ok := j.against[key]; !ok {
			j.against[key] = string(example)
		}
	}
}

func (j *jury) request(body []byte) {
	for _, s := range j.specs {
		j.hear(s, "request", check(s.request, body), body)
	}
}

func (j *jury) response(body []byte) {
	for _, s := range j.specs {
		j.hear(s, "response", check(s.response, body), body)
	}
}

func (j *jury) event(data []byte) {
	var event struct{ Type string }
	if err := json.Unmarshal(data, &event); err != nil {
		event.Type = "broken"
	}
	for _, s := range j.specs {
		schema := s.events[event.Type]
		if schema == nil {
			j.hear(s, event.Type, []string{"/type: the document has no such event"}, data)
			continue
		}
		j.hear(s, event.Type, check(schema, data), data)
	}
}

// drawn returns those of the known deviations that somebody complained of.
func (j *jury) drawn(known []deviation) []deviation {
	var drawn []deviation
	for _, d := range known {
		for key := range j.against {
			part := strings.SplitN(key, "\x00", 3)
			if d.matches(part[0], part[1], part[2]) {
				drawn = append(drawn, d)
				break
			}
		}
	}
	return drawn
}

// verdict fails the test for complaints that are not known, and for known
// deviations that nobody complains of any more.
func (j *jury) verdict(t *testing.T, known []deviation) {
	t.Helper()
	used := make([]bool, len(known))
	for _, key := range slices.Sorted(maps.Keys(j.against)) {
		part := strings.SplitN(key, "\x00", 3)
		excused := false
		for i, d := range known {
			if d.matches(part[0], part[1], part[2]) {
				used[i], excused = true, true
			}
		}
		if !excused {
			t.Errorf("%s, %s: %s\n\tin %.3000s", part[0], part[1], part[2], j.against[key])
		}
	}
	for i, d := range known {
		if !used[i] {
			t.Errorf("stale deviation: %s, %q: nothing has %q any more; remove it (%s)", d.spec, d.about, d.has, d.reason)
		}
	}
	for _, about := range slices.Sorted(maps.Keys(j.judged)) {
		t.Logf("%s: %d judged", about, j.judged[about])
	}
}

func TestCorpusRequestsOfTheRouterAreWhatTheDocumentsSay(t *testing.T) {
	t.Parallel()
	jury := newJury(t)
	for name, requests := range conversations(t) {
		if len(requests) == 0 {
			t.Errorf("%s: nothing was sent", name)
		}
		for _, body := range requests {
			jury.request(body)
		}
	}
	jury.verdict(t, requestDeviations)
}

// requestDeviations are what the router sends against a document.
var requestDeviations = []deviation{
	{openAI, "request", "/input/*: 'oneOf' failed, subschemas 0, 1 matched",
		"a message of the user is both an EasyInputMessage and an Item of the document, which says oneOf", false},
	{openAI, "request", "/input/*: missing property 'id'",
		"an id that another resource made is left out; hosts take messages and reasoning without one, as the official clients send them", false},
	{openAI, "request", "/input/*/content/*: 'oneOf' failed, none matched",
		"a message of the assistant without its id counts as one of the user for the document, and is refused its output_text", false},
}

// conversations runs the router against the scripted pool and returns the
// bodies that it sent, by what was done.
func conversations(t *testing.T) map[string][][]byte {
	t.Helper()
	pool := routertest.Start(t, routertest.Config{Resources: resources("a", "b", "weak"), Model: routertest.RefundModel()})
	weak := onceward.Capability{Version: "1", MaxInputTokens: 100000, MaxOutputTokens: 8000, ToolCalling: true, OmitReasoningIDs: true}
	r := routerOf(t, resource("a", pool.Resource("a").URL(), able()), resource("b", pool.Resource("b").URL(), able()),
		resource("weak", pool.Resource("weak").URL(), weak))
	sent := map[string][][]byte{}
	seen := 0
	record := func(name string) {
		all := pool.Requests()
		for _, q := range all[seen:] {
			sent[name] = append(sent[name], bytes.Clone(q.Raw))
			if q.Outcome.Status != 200 {
				t.Errorf("%s: the pool answered %d: %s", name, q.Outcome.Status, q.Outcome.Error)
			}
		}
		seen = len(all)
	}
	said, items := refund(t, r, "a")
	if !strings.Contains(said, "committed") {
		t.Errorf("the refund ended as %q", said)
	}
	record("refund on one resource")
	refund(t, r, "a", "b", "a")
	record("refund over two encryption boundaries")
	refund(t, r, "weak")
	record("refund on a deployment that can do little")
	refund(t, r, "a", "weak")
	record("refund that moves to a deployment that can do little")

	ask := onceward.ModelRequest{Route: to("a"), RunKey: "run/1", Instructions: "Be brief.", Items: items, Tools: refundTools(), Timeouts: patient()}
	for _, repair := range []onceward.Repair{
		onceward.RepairHistory, onceward.RepairStripIDs, onceward.RepairStripReasoning, onceward.RepairFullInput,
		onceward.RepairLowerOutput, onceward.RepairRaiseOutput,
	} {
		req := ask
		req.Repair = repair
		mustCall(t, r, req)
		record("repair " + string(repair))
	}
	orphan := ask
	orphan.Repair = onceward.RepairHistory
	orphan.Items = append(slices.Clone(items[:2]),
		item(t, `{"type":"function_call","id":"fc_orphan","call_id":"call_orphan","name":"get_order","arguments":"{}","status":"completed"}`, ""),
		text(t, "user", "And order-1842?"), output(t, "call_nobody", "late"))
	mustCall(t, r, orphan)
	record("repair of calls without outputs and outputs without calls")

	long := "call_" + strings.Repeat("x", 90)
	odd := ask
	odd.Items = []onceward.Item{
		text(t, "developer", "order-1842"), text(t, "user", "order-1842"),
		item(t, `{"type":"function_call","call_id":"`+long+`","name":"get_order","arguments":"{}"}`, ""), output(t, long, ""),
		item(t, `{"type":"function_call","call_id":"call_0","name":"get_order","arguments":"{}","created_by":"x"}`, ""),
		onceward.CallError("call_0", "invalid_arguments", "order_id: is required"),
		item(t, `{"type":"function_call","call_id":"call_0","name":"get_order","arguments":"{}"}`, ""),
		item(t, `{"type":"function_call_output","call_id":"call_0","output":[{"type":"input_text","text":"{\"amount_cents\":1}"}]}`, ""),
		text(t, "assistant", "One moment."),
	}
	mustCall(t, r, odd)
	odd.Route = to("weak")
	mustCall(t, r, odd)
	record("long and repeated call ids, empty, failed and listed outputs")

	if err := pool.SetModel("", routertest.QuizModel(routertest.Quiz{})); err != nil {
		t.Fatal(err)
	}
	quiz := onceward.ModelRequest{
		RunKey: "run/2", Instructions: "Write a quiz.", Items: []onceward.Item{text(t, "user", "topic: rivers")}, Timeouts: patient(),
		Output: &onceward.OutputDecl{Name: "quiz", Schema: []byte(`{"type":"object","properties":{"topic":{"type":"string"},"questions":{"type":"array","items":{"type":"object","properties":{"question":{"type":"string"},"answer":{"type":"string"}},"required":["question","answer"],"additionalProperties":false}}},"required":["topic","questions"],"additionalProperties":false}`)},
	}
	for _, resource := range []string{"a", "weak"} {
		quiz.Route = to(resource)
		mustCall(t, r, quiz)
	}
	record("quiz")
	return sent
}

func TestCorpusCallOutputWithoutCallIDIsRefusedByOneDocumentOnly(t *testing.T) {
	t.Parallel()
	body := []byte(`{"model":"m","input":[{"type":"function_call_output","output":"x"}]}`)
	if c := check(loadSpec(t, openResponses).request, body); len(c) == 0 {
		t.Error("Open Responses accepted it: this test no longer gates anything")
	}
	if c := check(loadSpec(t, openAI).request, body); len(c) != 0 {
		t.Errorf("OpenAI's document now refuses it: %q", c)
	}
}

func TestCorpusAnswersOfTheScriptedPoolAreWhatTheDocumentsSay(t *testing.T) {
	t.Parallel()
	jury := newJury(t)
	everything := routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{LastUser: "refuse"}, Reply: []routertest.Out{{Refusal: "I cannot help with that."}}},
		{When: routertest.Match{LastUser: "think"}, Reply: []routertest.Out{
			{Reasoning: &routertest.Reasoning{Summary: "The order comes first."}}, routertest.CallTool("get_order", map[string]any{"order_id": "order-1"}),
			routertest.CallTool("get_order", map[string]any{"order_id": "order-2"}), routertest.Say("I look it up."),
		}},
		{When: routertest.Match{LastUser: "compact"}, Reply: []routertest.Out{{Compaction: true}, routertest.Say("done")}},
		{When: routertest.Match{LastUser: "silent"}, Reply: []routertest.Out{routertest.Say("")}},
		{Reply: []routertest.Out{routertest.Say("A longer answer, 谢谢 😀, of more than one piece.")}},
	}}
	pool := routertest.Start(t, routertest.Config{Resources: resources("a"), Model: everything})
	base := pool.Resource("a").URL()
	requests := slices.Concat(slices.Collect(maps.Values(conversations(t)))...)
	for _, word := range []string{"refuse", "think", "compact", "silent", "talk"} {
		requests = append(requests,
			[]byte(fmt.Sprintf(`{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":%q}`, word)),
			[]byte(fmt.Sprintf(`{"model":"m","input":%q,"max_output_tokens":16,"metadata":{"a":"b"},"temperature":0.5,"user":"u"}`, word)),
			[]byte(fmt.Sprintf(`{"model":"m","input":%q,"tools":[{"type":"function","name":"f","parameters":null}],"tool_choice":"none","text":{"format":{"type":"json_object"}},"reasoning":{"effort":"low"}}`, word)))
	}
	faults := []routertest.Fault{
		{}, {Kind: routertest.FaultProse}, {Kind: routertest.FaultFailed}, {Kind: routertest.FaultFailed, AfterEvents: 5, Code: "rate_limit_exceeded"},
		{Kind: routertest.FaultIncomplete}, {Kind: routertest.FaultIncomplete, Reason: "content_filter", AfterEvents: 4},
		{Kind: routertest.FaultErrorEvent}, {Kind: routertest.FaultErrorEvent, Flat: true}, {Kind: routertest.FaultTwoTerminals},
		{Kind: routertest.FaultNoUsage}, {Kind: routertest.FaultNoOutput}, {Kind: routertest.FaultBrokenArguments},
	}
	drifts := []routertest.Drift{{}, {EmptySnapshot: true}, {SealInSnapshotOnly: true}, {ReasoningStatus: true, Model: "m-2026-01-01"}}
	for i, fault := range append(faults, make([]routertest.Fault, len(drifts)-1)...) {
		pool.ClearFaults()
		if fault.Kind != "" {
			if err := pool.SetFaults(fault); err != nil {
				t.Fatal(err)
			}
		}
		if i >= len(faults) {
			pool.Resource("a").SetDrift(drifts[i-len(faults)+1])
		}
		// A fault is the same whatever was asked for: all requests without one, a few with each.
		asked := requests
		if i > 0 {
			asked = requests[len(requests)-15:]
		}
		for _, body := range asked {
			for _, streamed := range []bool{true, false} {
				jury.hearAnswer(t, base, body, streamed, fault.Kind)
			}
		}
	}
	jury.verdict(t, answerDeviations)
}

// hearAnswer sends a request and judges all that comes back.
func (j *jury) hearAnswer(t *testing.T, base string, body []byte, streamed bool, fault routertest.FaultKind) {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	fields["stream"] = json.RawMessage(fmt.Sprint(streamed))
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(base+"responses", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 {
		// Reasoning that another boundary sealed is refused here, as it should be.
		if !bytes.Contains(answer, []byte("invalid_encrypted_content")) {
			t.Errorf("status %d: %s\n\tto %s", res.StatusCode, answer, body)
		}
		return
	}
	switch {
	case streamed:
		lines := bufio.NewScanner(bytes.NewReader(answer))
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
				j.event(data)
			}
		}
	case fault == routertest.FaultErrorEvent: // the bare error object that some gateways send with a 200
	default:
		j.response(answer)
	}
}

// A deviation of the simulator is only believed where real traffic has it too.
func TestCorpusDeviationsCalledRecordedAreInRecordedTraffic(t *testing.T) {
	t.Parallel()
	real := newJury(t)
	for _, r := range recordings(t) {
		for _, event := range r.events {
			real.event(event)
		}
		if r.body != nil {
			real.response(r.body)
		}
	}
	found := real.drawn(answerDeviations)
	for _, d := range answerDeviations {
		if slices.Contains(found, d) != d.recorded {
			t.Errorf("%s: %s: in recorded traffic %t, declared %t", d.spec, d.has, !d.recorded, d.recorded)
		}
	}
}

// answerDeviations are what the scripted pool sends against a document.
var answerDeviations = []deviation{
	{openAI, "", "/usage: got null, want object", "usage is null until the response is completed", true},
	{openAI, "", "/user: got null, want string", "what the request leaves out is null", true},
	{openAI, "", "/text/format/description: got null, want string", "what the request leaves out is null", false},
	{openAI, "error", "missing properties 'code', 'message', 'param'", "the nested form of the event, which real streams have", true},
	{openResponses, "error", "missing property 'error'", "the flat form of the event, as OpenAI's document has it", false},
	{openResponses, "", "/text/format/schema: 'anyOf' failed", "the document allows no schema but null in the format that is echoed", false},
}
