package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestTwoViewsOfAnAnswerAreOne(t *testing.T) {
	const (
		rs     = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`
		rsBare = `{"type":"reasoning","summary":[],"encrypted_content":"gA"}`
		rs2    = `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gB"}`
		rsOpen = `{"type":"reasoning","summary":[]}`
		fc     = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\":1}"}`
		fcBare = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"}`
		fc2    = `{"type":"function_call","id":"fc_2","call_id":"c2","name":"f","arguments":"{\"a\":2}"}`
		msg    = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"t"}]}`
		msg2   = `{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"u"}]}`
	)
	other := func(item, id string) string {
		before, rest, _ := strings.Cut(item, `"id":"`)
		_, after, _ := strings.Cut(rest, `"`)
		return before + `"id":"` + id + `"` + after
	}
	for name, c := range map[string]struct {
		streamed, terminal, want []string
	}{
		"E16 the call came first, the terminal order wins":                                   {[]string{fc, rs}, []string{rs, fc}, []string{rs, fc}},
		"E16 and without ids":                                                                {[]string{fcBare, rsBare}, []string{rsBare, fcBare}, []string{rsBare, fcBare}},
		"E16 and with other ids at the end":                                                  {[]string{fc, rs}, []string{other(rs, "rs_9"), other(fc, "fc_9")}, []string{other(rs, "rs_9"), other(fc, "fc_9")}},
		"E16 and with ids in the stream only":                                                {[]string{fc, rs}, []string{rsBare, fcBare}, []string{rsBare[:len(rsBare)-1] + `,"id":"rs_1"}`, fcBare[:len(fcBare)-1] + `,"id":"fc_1"}`}},
		"E16 a call with another call id at the end is one call":                             {[]string{rs, fc}, []string{rs, strings.Replace(other(fc, "fc_9"), "c1", "c9", 1)}, []string{rs, strings.Replace(other(fc, "fc_9"), "c1", "c9", 1)}},
		"E16 two calls that swapped places are two":                                          {[]string{fc2, fc}, []string{fc, fc2}, []string{fc, fc2}},
		"E16 the same call twice under two call ids is two":                                  {[]string{fc, other(strings.Replace(fc, "c1", "c2", 1), "fc_2")}, nil, []string{fc, other(strings.Replace(fc, "c1", "c2", 1), "fc_2")}},
		"E16 a call that the end has twice is one":                                           {nil, []string{rs, fc, fc}, []string{rs, fc}},
		"E16 a call that the stream had twice under other ids is one":                        {[]string{rs, fc, other(fc, "fc_7")}, []string{rs, other(fc, "fc_8")}, []string{rs, other(fc, "fc_8")}},
		"E16 reasoning streamed last goes before its call":                                   {[]string{fc, rs}, nil, []string{rs, fc}},
		"E16 and where the end has the call only":                                            {[]string{fc, rs}, []string{fc}, []string{rs, fc}},
		"reasoning that the end leaves out stays before its call":                            {[]string{rs, fc, rs2, fc2}, []string{fc, fc2}, []string{rs, fc, rs2, fc2}},
		"a call that the end leaves out stays behind its reasoning":                          {[]string{rs, fc, rs2, fc2}, []string{rs, rs2, fc2}, []string{rs, fc, rs2, fc2}},
		"and where the end turns the rest around":                                            {[]string{rs, msg, fc}, []string{msg, rs}, []string{msg, rs, fc}},
		"reasoning that is sealed at the end only":                                           {[]string{fc, rsOpen}, []string{rsBare, fc}, []string{rsBare, fc}},
		"all of one id, told apart by what they say":                                         {[]string{other(msg, "0"), other(msg2, "0")}, []string{other(msg, "0"), other(msg2, "0")}, []string{other(msg, "0"), other(msg2, "0")}},
		"calls of one id, told apart by their call ids":                                      {[]string{other(fc, "0"), other(fc2, "0")}, []string{other(fc2, "0"), other(fc, "0")}, []string{other(fc2, "0"), other(fc, "0")}},
		"a message that the end leaves out is not taken for another":                         {[]string{msg, msg2}, []string{other(msg2, "x")}, []string{msg, other(msg2, "x")}},
		"the end says more than the stream":                                                  {[]string{`{"type":"function_call","call_id":"c1","name":"f","arguments":""}`}, []string{fc}, []string{fc}},
		"a call that says something else at the end is two, for which the answer is refused": {[]string{fc}, []string{strings.Replace(fc, `1}"`, `2}"`, 1)}, []string{fc, strings.Replace(fc, `1}"`, `2}"`, 1)}},
		"arguments with other spaces are the same":                                           {[]string{strings.Replace(fc, "c1", "x", 1)}, []string{other(strings.Replace(fc, `{\"a\":1}`, ` {\"a\": 1} `, 1), "y")}, []string{other(strings.Replace(fc, `{\"a\":1}`, ` {\"a\": 1} `, 1), "y")}},
		"nothing in common is all there, what was streamed in its turn":                      {[]string{rs, fc}, []string{msg}, []string{rs, fc, msg}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := merged(c.streamed, c.terminal); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// merged joins two views; streamed items have the places in which they stand.
func merged(streamed, terminal []string) []string {
	var out []string
	for _, e := range merge(view(streamed), view(terminal)) {
		out = append(out, string(e.raw))
	}
	return out
}

func view(items []string) []entry {
	var list []entry
	for i, item := range items {
		list = append(list, newEntry(i, json.RawMessage(item)))
	}
	return list
}

func TestMergeOfManyItemsEnds(t *testing.T) {
	var streamed, terminal []string
	for i := range maxItems { // every one of the same id, so that none can be found by it
		streamed = append(streamed, fmt.Sprintf(`{"type":"message","id":"0","content":[{"type":"output_text","text":"%d"}]}`, i))
	}
	for i := range streamed {
		terminal = append(terminal, streamed[len(streamed)-1-i])
	}
	if got := merged(streamed, terminal); len(got) != maxItems || got[0] != terminal[0] {
		t.Errorf("%d items of %d, the first %s", len(got), maxItems, got[0])
	}
	var s Stream
	var err error
	for i := 0; i <= maxItems && err == nil; i++ {
		_, err = s.Add(Event{Data: []byte(done(i, streamed[0]))})
	}
	if err == nil {
		t.Error("an answer without end was taken")
	}
}

// No item is lost, no call is there twice, the terminal order is kept, and merging
// again changes nothing.
func FuzzMerge(f *testing.F) {
	f.Add(`c11a1,r1--1`, `r1--1,c11a1`)
	f.Add(`c-1a1,r---1,c-1a1`, `r---1,c-2a1,m--a-`)
	f.Add(`c11a1,c12b2,m1-x-,m1-y-`, `c11b1,c11a1,m--y-`)
	f.Add(`r1--1,m2-x-,c11a1`, `m2-x-,r1--1`)
	f.Add(`c0000`, `c00-0,c0000`) // what was streamed shows two of the end to be one
	f.Fuzz(func(t *testing.T, streamed, terminal string) {
		s, e := decodeItems(streamed), decodeItems(terminal)
		got := merged(s, e)
		all := view(got)
		for _, in := range view(append(append([]string{}, s...), e...)) {
			if !has(all, in) {
				t.Fatalf("lost %s of\n%q\n%q:\n%q", in.raw, s, e, got)
			}
		}
		for i := range all {
			for k := range all[:i] {
				if all[i].twin(&all[k], false) {
					t.Fatalf("twice %s in\n%q", all[i].raw, got)
				}
			}
		}
		for _, view := range [][]string{s, got} {
			if alone := view; len(e) == 0 && len(alone) > 0 {
				end := merged(alone, nil)
				if strings.Contains(end[len(end)-1], `"reasoning"`) && strings.Contains(strings.Join(end, ""), `"function_call"`) {
					t.Fatalf("a call before its reasoning: %q", end)
				}
			}
		}
		var taken []entry // that an item of the end stands for
		last := -1
		for _, in := range once(view(e), false) {
			switch at := place1(all, in, last); {
			case at >= 0:
				last, taken = at, append(taken, all[at])
			case !has(taken, in):
				t.Fatalf("%s is out of the terminal order %q:\n%q", in.raw, e, got)
			}
		}
		if again := merged(got, got); strings.Join(again, ",") != strings.Join(got, ",") {
			t.Fatalf("merged again:\n%q\n%q", got, again)
		}
		if again := merged(nil, got); strings.Join(again, ",") != strings.Join(got, ",") {
			t.Fatalf("as a terminal view:\n%q\n%q", got, again)
		}
	})
}

// has reports whether an item is in a list, under its id, its call id or by what
// it says.
func has(list []entry, in entry) bool {
	for _, e := range list {
		named := in.head.ID != "" && in.head.ID == e.head.ID || in.head.CallID != "" && in.head.CallID == e.head.CallID
		if e.head.Type == in.head.Type && (named || e.agree(&in)) {
			return true
		}
	}
	return false
}

// place1 returns where an item stands after a place, or -1.
func place1(list []entry, in entry, after int) int {
	for i := after + 1; i < len(list); i++ {
		if has(list[i:i+1], in) {
			return i
		}
	}
	return -1
}

// decodeItems reads items of five characters: type, id, call id, what it says, and
// more that it says; - is nothing.
func decodeItems(s string) []string {
	var out []string
	for _, code := range strings.Split(s, ",") {
		if len(code) != 5 || len(out) == 12 || !plainID(code) {
			continue
		}
		part := func(i int, format string) string {
			if code[i] == '-' {
				return ""
			}
			return fmt.Sprintf(format, code[i:i+1])
		}
		switch code[0] {
		case 'c':
			out = append(out, `{"type":"function_call"`+part(1, `,"id":"fc_%s"`)+part(2, `,"call_id":"c%s"`)+part(3, `,"name":"%s"`)+part(4, `,"arguments":"{\"a\":\"%s\"}"`)+`}`)
		case 'r':
			out = append(out, `{"type":"reasoning"`+part(1, `,"id":"rs_%s"`)+part(3, `,"summary":["%s"]`)+part(4, `,"encrypted_content":"%s"`)+`}`)
		default:
			out = append(out, `{"type":"message"`+part(1, `,"id":"msg_%s"`)+part(3, `,"content":[{"type":"output_text","text":"%s"}]`)+`}`)
		}
	}
	return out
}
