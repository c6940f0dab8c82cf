package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/agents"
	"github.com/onceward/onceward/test/harness"
)

// keep writes arguments of the tool keep; more is put behind them as it is.
func keep(id, amount, text, more string) string {
	return fmt.Sprintf(`{"id":"%s","amount":%s,"text":%s,"box":{"kind":"k","list":[1]},"why":"w"%s}`, id, amount, text, more)
}

// inString writes arguments as the inside of a JSON string.
func inString(arguments string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(arguments)
}

// wire is a response as bytes, for what no JSON encoder would write.
func wire(output string) routertest.Fault {
	return routertest.Fault{
		Kind: routertest.FaultStatus, Status: 200, Times: 1, Header: map[string]string{"Content-Type": "text/event-stream"},
		Match: routertest.Match{Turn: routertest.At(0)},
		Body: `event: response.completed` + "\n" + `data: {"type":"response.completed","sequence_number":0,"response":{"id":"resp_raw","object":"response","created_at":1,"status":"completed","model":"gpt-5.6","output":[` +
			output + `],"usage":{"input_tokens":10,"output_tokens":10,"total_tokens":20}}}` + "\n\n",
	}
}

// called is a function call as an output item; arguments is the inside of a JSON
// string.
func called(id, arguments string) string {
	return `{"type":"function_call","id":"fc_` + id + `","call_id":"` + id + `","name":"keep","status":"completed","arguments":"` + arguments + `"}`
}

// What a model may write and JSON readers disagree about. Either it is refused
// with a reason before anything is digested, or there is one bound value which the
// digest, the ledger and the tool all have.
func TestArgumentsAreOneValueOrRefused(t *testing.T) {
	const maxInt = "9223372036854775807"
	rows := []struct {
		name      string
		arguments string
		wire      string // the output items of the response as bytes, instead
		refused   string // part of the reason; "": it is kept
		kept      func(agents.KeepArgs) bool
	}{
		{name: "an amount in two cases", arguments: keep("x", "10", `"t"`, `,"Amount":9900`), refused: "same argument twice"},
		{name: "an amount twice", arguments: keep("x", "10", `"t"`, `,"amount":9900`), refused: "same argument twice"},
		{name: "an amount twice, once in escapes", arguments: keep("x", "10", `"t"`, `,"\u0061mount":9900`), refused: "same argument twice"},
		{name: "a key twice by Unicode folding", arguments: keep("x", "10", `"t"`, `,"Bo\u0078":1,"\u212aind":1`), refused: "same argument twice"},
		{name: "a nested key in two cases", arguments: `{"id":"x","amount":1,"text":"t","box":{"kind":"a","Kind":"b","list":[]},"why":"w"}`, refused: "same argument twice"},
		{name: "one key in another case alone", arguments: `{"id":"x","Amount":1,"text":"t","box":{"kind":"a","list":[]},"why":"w"}`, refused: "amount"},
		{name: "a key that poisons prototypes", arguments: keep("x", "1", `"t"`, `,"__proto__":{"amount":9}`), refused: "__proto__"},
		{name: "an empty key", arguments: keep("x", "1", `"t"`, `,"":1`), refused: "not a known key"},
		{name: "an integer beyond 53 bits", arguments: keep("x", "9007199254740993", `"t"`, ""), kept: func(in agents.KeepArgs) bool { return in.Amount == 9007199254740993 }},
		{name: "the largest 64-bit integer", arguments: keep("x", maxInt, `"t"`, ""), kept: func(in agents.KeepArgs) bool { return fmt.Sprint(in.Amount) == maxInt }},
		{name: "an integer beyond 64 bits", arguments: keep("x", "9223372036854775808", `"t"`, ""), refused: "amount"},
		{name: "a fraction where an integer is due", arguments: keep("x", "1.5", `"t"`, ""), refused: "amount"},
		{name: "an integer as text", arguments: keep("x", `"10"`, `"t"`, ""), refused: "amount"},
		{name: "an integer with an exponent", arguments: keep("x", "1e400", `"t"`, ""), refused: "1e400"},
		{name: "null where an integer is due", arguments: keep("x", "null", `"t"`, ""), refused: "amount"},
		{name: "half of a surrogate pair", arguments: keep("x", "1", `"a\ud800b"`, ""), kept: func(in agents.KeepArgs) bool { return in.Text == "a\ufffdb" }},
		{name: "a whole surrogate pair", arguments: keep("x", "1", `"\ud83d\ude00"`, ""), kept: func(in agents.KeepArgs) bool { return in.Text == "😀" }},
		{name: "half of a surrogate pair in the wire's own escape", wire: called("call_s", `{\"id\":\"x\",\"amount\":1,\"text\":\"a\udc00b\",\"box\":{\"kind\":\"k\",\"list\":[]},\"why\":\"w\"}`),
			kept: func(in agents.KeepArgs) bool { return in.Text == "a\ufffdb" }},
		{name: "bytes that are no UTF-8", wire: called("call_b", "{\\\"id\\\":\\\"x\\\",\\\"amount\\\":1,\\\"text\\\":\\\"a\xff\xfeb\\\",\\\"box\\\":{\\\"kind\\\":\\\"k\\\",\\\"list\\\":[]},\\\"why\\\":\\\"w\\\"}"),
			kept: func(in agents.KeepArgs) bool {
				return strings.HasPrefix(in.Text, "a\ufffd") && strings.HasSuffix(in.Text, "b")
			}},
		{name: "characters that encoders escape", arguments: keep("x", "1", `"<&>\u2028\u0000\u007f"`, ""), kept: func(in agents.KeepArgs) bool { return in.Text == "<&>\u2028\x00\x7f" }},
		{name: "an integer list of extremes", arguments: `{"id":"x","amount":-9223372036854775808,"text":"","box":{"kind":"","list":[0,-0,9223372036854775807]},"why":""}`,
			kept: func(in agents.KeepArgs) bool { return in.Amount == -1<<63 && in.Box.List[2] == 1<<63-1 }},
		{name: "nesting beyond the bound", arguments: `{"id":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, refused: "nested deeper"},
		{name: "nesting within the bound where none is due", arguments: keep("x", "1", `"t"`, `,"y":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)), refused: "not a known key"},
		{name: "a text of 200 KB", wire: called("call_t", inString(keep("x", "1", `"`+strings.Repeat("t", 200<<10)+`"`, ""))), kept: func(in agents.KeepArgs) bool { return len(in.Text) == 200<<10 }},
		{name: "a text of 300 KB", wire: called("call_t", inString(keep("x", "1", `"`+strings.Repeat("t", 300<<10)+`"`, ""))), refused: "at most"},
		{name: "an id with a control character", arguments: keep(`x\u0001`, "1", `"t"`, ""), refused: "action"},
		{name: "an id that looks like another by its letters", arguments: keep("xх", "1", `"t"`, ""), refused: "action"}, // Cyrillic
	}
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			// An action id is unique in the namespace, which all tests share.
			own := strings.NewReplacer(`"id":"x`, `"id":"v`+fmt.Sprint(i), `\"id\":\"x`, `\"id\":\"w`+fmt.Sprint(i))
			model := calls(raw("keep", own.Replace(row.arguments)))
			o := harness.Options{Model: &model}
			if row.wire != "" {
				o.Faults = []routertest.Fault{wire(own.Replace(row.wire))}
			}
			b := harness.New(t, o)
			b.StartWorker(false)
			run := b.Start("run", "KeeperWorkflow", "Keep it.")
			result := run.Result()
			if result.Outcome != onceward.OutcomeCompleted || result.Text != "done" {
				t.Fatalf("outcome %s, text %q (%s, %v), want completed", result.Outcome, result.Text, result.Reason, result.Failure)
			}
			items := run.Transcript()
			if err := harness.CheckTranscript(items); err != nil {
				t.Error(err)
			}
			outputs := harness.Outputs(items)
			if len(outputs) != 1 {
				t.Fatalf("%d calls in the transcript, want 1", len(outputs))
			}
			if row.refused != "" {
				if len(result.Actions) != 0 || outputs[0].Field("error") != "invalid_arguments" || !strings.Contains(outputs[0].Text, row.refused) {
					t.Errorf("actions %+v, the model was told %.300s; want invalid_arguments with %q", result.Actions, outputs[0].Text, row.refused)
				}
			} else {
				oneValue(t, b, run, result, row.kept)
			}
			for _, a := range b.Attempts(run.Chain()) {
				if a.Input.Manifest != items[0].Digest {
					t.Errorf("turn %d names the manifest %s, want %s", a.Input.Turn, a.Input.Manifest, items[0].Digest)
				}
			}
		})
	}
}

// oneValue compares what was bound, what the ledger holds, and what the tool saw.
func oneValue(t *testing.T, b *harness.Bench, run *harness.Run, result onceward.Result, kept func(agents.KeepArgs) bool) {
	t.Helper()
	got := receipt(t, result)
	call := b.Attempts(run.Chain())[0].Result.Calls[0]
	var input onceward.ActionInput
	b.Input(got.ActionID.WorkflowID(), &input)
	if !bytes.Equal(call.Args, input.Act.Args) {
		t.Errorf("the call was bound to %.200s, the action has %.200s", call.Args, input.Act.Args)
	}
	if call.Digest == "" || call.Digest != got.Digest || call.Digest != input.Act.Digest {
		t.Errorf("digests %s of the call, %s of the action, %s of the receipt; want one", call.Digest, input.Act.Digest, got.Digest)
	}
	if seen := onceward.DigestBytes(call.Args); got.Ref != seen || got.Status != onceward.StateCommitted {
		t.Errorf("the tool saw %s, %s was bound (%s)", got.Ref, seen, got.Status)
	}
	var in agents.KeepArgs
	if err := json.Unmarshal(call.Args, &in); err != nil || kept != nil && !kept(in) {
		t.Errorf("the value is %.200s (%v), want another", call.Args, err)
	}
}

// Responses that no transcript could hold, or whose calls could not be told apart,
// do not enter one: they are failed attempts, and nothing of them is carried out.
func TestResponsesThatNoTranscriptCanHold(t *testing.T) {
	arguments := func(id string) string { return inString(keep("shape-"+id, "1", `"t"`, "")) }
	rows := map[string]struct {
		output  string
		actions int
		asked   int // requests
	}{
		"two calls of one id: asked again, and neither is carried out": {
			output: called("call_1", arguments("a")) + "," + strings.Replace(called("call_1", arguments("b")), "fc_call_1", "fc_2", 1), asked: 2},
		"arguments that are nested without end: asked again": {
			output: called("call_1", inString(`{"id":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}`)), asked: 2},
		"a call without an id: asked again":           {output: strings.Replace(called("", arguments("c")), `"call_id":"",`, "", 1), asked: 2},
		"a call whose id is too long: it is answered": {output: called(strings.Repeat("c", 400), arguments("d")), actions: 1, asked: 2},
		"an item that is nested too deeply: asked again": {
			output: `{"type":"mystery","id":"m_1","body":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, asked: 2},
		"an item that is no object: asked again": {output: `[1,2,3]`, asked: 2},
		"an item larger than a transcript takes: asked again": {
			output: `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + strings.Repeat("t", 1<<20) + `","annotations":[]}]}`, asked: 2},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say("done")}}}}
			b := harness.New(t, harness.Options{Model: &model, Faults: []routertest.Fault{wire(row.output)}})
			b.StartWorker(false)
			run := b.Start("run", "KeeperWorkflow", "Keep it.")
			result := run.Result()
			if result.Outcome != onceward.OutcomeCompleted || result.Text != "done" || len(result.Actions) != row.actions {
				t.Errorf("outcome %s, text %.80q, %d actions (%s, %v); want completed with %d", result.Outcome, result.Text, len(result.Actions), result.Reason, result.Failure, row.actions)
			}
			if err := harness.CheckTranscript(run.Transcript()); err != nil {
				t.Error(err)
			}
			if n := b.Pool.Attempts(); n != row.asked {
				t.Errorf("%d requests, want %d", n, row.asked)
			}
		})
	}
}
