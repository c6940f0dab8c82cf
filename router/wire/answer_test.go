package wire

import (
	"fmt"
	"strings"
	"testing"
)

func read(t *testing.T, events ...string) (Answer, error) {
	t.Helper()
	var s Stream
	for i, e := range events {
		terminal, err := s.Add(Event{Data: []byte(e)})
		if err != nil {
			t.Fatal(err)
		}
		if terminal != (i == len(events)-1) {
			t.Fatalf("event %d: terminal %v", i, terminal)
		}
	}
	return s.Answer()
}

func done(i int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item)
}

func end(output string) string {
	return `{"type":"response.completed","response":{"status":"completed","output":[` + output + `]}}`
}

func TestItemsAreTheUnionOfStreamAndSnapshot(t *testing.T) {
	const (
		rs       = `{"type":"reasoning","id":"rs_1","summary":[]}`
		rsSealed = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`
		msg      = `{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"a"}]}`
		msgOther = `{"type":"message","id":"other","content":[{"type":"output_text","text":"a"}]}`
		msgEmpty = `{"type":"message","id":"msg_1","content":[]}`
		fc1      = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"}`
		fc2      = `{"type":"function_call","id":"fc_2","call_id":"c2","name":"f","arguments":"{}"}`
	)
	for name, c := range map[string]struct {
		events []string
		want   []string
	}{
		"snapshot only":                        {[]string{end(rs + "," + msg)}, []string{rs, msg}},
		"stream only":                          {[]string{done(0, rs), done(1, msg), end("")}, []string{rs, msg}},
		"sealed in the snapshot only":          {[]string{done(0, rs), done(1, msg), end(rsSealed + "," + msg)}, []string{rsSealed, msg}},
		"sealed in the stream only":            {[]string{done(0, rsSealed), end(rs)}, []string{rsSealed}},
		"snapshot empties a message":           {[]string{done(0, msg), end(msgEmpty)}, []string{msg}},
		"done twice":                           {[]string{done(0, msg), done(0, msg), end(msg)}, []string{msg}},
		"same id twice in the snapshot":        {[]string{end(msg + "," + msg)}, []string{msg}},
		"another id in every event":            {[]string{done(0, msgOther), end(msg)}, []string{msg}},
		"out of order":                         {[]string{done(1, msg), done(0, rs), end("")}, []string{rs, msg}},
		"calls of one kind are kept apart":     {[]string{done(0, fc1), done(1, fc2), end(fc1 + "," + fc2)}, []string{fc1, fc2}},
		"a snapshot with less than the stream": {[]string{done(0, rs), done(1, msg), end(msg)}, []string{rs, msg}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := read(t, c.events...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, raw := range a.Items {
				got = append(got, string(raw))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestArgumentsOfCalls(t *testing.T) {
	for value, want := range map[string]string{
		`"{\"a\":1}"`: `{"a":1}`,
		`""`:          `{}`,
		`"  \n"`:      `{}`,
		`null`:        `{}`,
		`{"a":1}`:     `{"a":1}`,
		`"{\"a\": "`:  "",
		`"hello"`:     "",
		`"{}{}"`:      "",
		`17`:          "",
	} {
		a, err := read(t, end(`{"type":"function_call","call_id":"c","name":"f","arguments":`+value+`}`))
		if want == "" {
			if err == nil {
				t.Errorf("%s was accepted as %+v", value, a.Calls)
			}
			continue
		}
		if err != nil || len(a.Calls) != 1 || a.Calls[0].Arguments != want {
			t.Errorf("%s: %+v, %v", value, a.Calls, err)
		}
	}
	for name, output := range map[string]string{
		"no call id":    `{"type":"function_call","name":"f","arguments":""}`,
		"call id twice": `{"type":"function_call","id":"1","call_id":"c","name":"f","arguments":""},{"type":"function_call","id":"2","call_id":"c","name":"g","arguments":""}`,
	} {
		if _, err := read(t, end(output)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestUsageThatSaysNothingIsUnknown(t *testing.T) {
	for raw, known := range map[string]bool{
		`null`: false, `{}`: false, `{"input_tokens":0,"output_tokens":0,"total_tokens":0}`: false,
		`{"input_tokens":-1,"output_tokens":5}`: false, `"many"`: false,
		`{"input_tokens":7,"output_tokens":0}`:             true,
		`{"input_tokens":9223372036900,"output_tokens":5}`: false, // more than any attempt can use
	} {
		var a Answer
		if a.count([]byte(raw)); a.Usage.Known != known {
			t.Errorf("%s: %+v", raw, a.Usage)
		}
	}
}

func TestBrokenEventsAreErrorsAndUnknownOnesAreNot(t *testing.T) {
	var s Stream
	for _, data := range []string{`{"type":"keepalive"}`, `{"type":"response.queued"}`, `{}`, `{"no":"type"}`} {
		if terminal, err := s.Add(Event{Data: []byte(data)}); terminal || err != nil || s.Started {
			t.Errorf("%s: %v %v", data, terminal, err)
		}
	}
	for _, data := range []string{`{"type":"response.output_`, `{"type":"response.completed","response":{`, `[1]`, `{"type":"response.output_item.done","item":{]}`} {
		if _, err := s.Add(Event{Data: []byte(data)}); err == nil {
			t.Errorf("%s was accepted", data)
		}
	}
	if terminal, _ := s.Add(Event{Name: "error", Data: []byte(`{"code":"x","message":"y"}`)}); !terminal {
		t.Error("an error event without a type is not terminal")
	}
}
