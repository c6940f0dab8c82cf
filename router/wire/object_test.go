package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// odd are documents that encoding/json reads in its own way.
var odd = []string{
	`{}`, `null`, `"text"`, `[1]`, `5`,
	`{"id":"a","model":"m","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":5,"output_tokens":2}}`,
	`{"ID":"a","Model":"b","OUTPUT":[1],"Usage":{}}`,
	`{"\u0069d":"a"}`, `{"id":"a\nb\u00e9\ud800","model":"\u2028"}`, "{\"id\":\"\xff\xfe\",\"name\":\"é\"}",
	`{"id":5}`, `{"id":null,"output":null}`, `{"id":"a","id":null,"id":"b"}`, `{"id":["a"]}`,
	`{"output":[1],"output":null}`, `{"output":[ 1 , {"a":[2,"]"]} , [] ]}`, `{"output":{"a":1}}`, `{"output":"x"}`, `{"output":[ ]}`,
	`{"type":"message","content":"short form"}`, `{"content":[null,{"type":null,"text":"a"},{"text":"\"quoted\\\" \\"}]}`, `{"content":[5]}`,
	`{"content":[{"type":"refusal","refusal":"no","Text":"t"}],"call_id":"c","name":"f"}`, `{"content":[{}],"content":[{},{}]}`,
	`{"input_tokens":1.0,"output_tokens":1e3}`, `{"input_tokens":-4}`, `{"input_tokens":12345678901234567890}`, `{"input_tokens":"5"}`,
	`{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"CACHED_TOKENS":5},"output_tokens_details":null}`,
	`{"input_tokens":10,"input_tokens_details":[],"output_tokens":0,"output_tokens_details":{"reasoning_tokens":1,"x":{}}}`,
	`{"output_index":3,"item":{"type":"message"}}`, `{"output_index":null,"item":null}`, `{"output_index":-1,"item":{}}`, `{"output_index":"1"}`,
	`{"output_index":1,"output_index":null,"item":{"a":1},"item":{"b":"\\"}}`, `{"item":{"a":1}`, `{"item":{"a":tru}}`, `{"a":"\\\\\"","id":"x"}`,
}

// The readers spare encoding/json where they can; this holds them to it.
func FuzzReadersAgreeWithEncodingJSON(f *testing.F) {
	for _, doc := range odd {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var done struct {
			Index *int            `json:"output_index"`
			Item  json.RawMessage `json:"item"`
		}
		err := json.Unmarshal(doc, &done)
		index, item, gotErr := readDone(doc)
		if (err == nil) != (gotErr == nil) {
			t.Fatalf("event %q: %v, want %v", doc, gotErr, err)
		}
		if err == nil {
			want := -1
			if done.Index != nil {
				want = *done.Index
			}
			if index != want || !bytes.Equal(item, done.Item) {
				t.Fatalf("event %q: %d %q, want %d %q", doc, index, item, want, done.Item)
			}
		}
		if !json.Valid(doc) {
			return
		}
		check(t, doc, readResponse)
		check(t, doc, readOutput)
		var a Answer
		a.count(doc) // whatever it holds, usage is bounded and never negative
		if u := a.Usage; u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedTokens < 0 || u.CacheWriteTokens < 0 || u.CachedTokens+u.CacheWriteTokens > u.InputTokens {
			t.Fatalf("usage %s: %+v", doc, u)
		}
	})
}

func check[T any](t *testing.T, doc []byte, read func([]byte) (T, error)) {
	t.Helper()
	var want T
	err := json.Unmarshal(doc, &want)
	got, gotErr := read(doc)
	switch {
	case (err == nil) != (gotErr == nil):
		t.Fatalf("%q: %v, want %v", doc, gotErr, err)
	case err == nil && !same(got, want):
		t.Fatalf("%q: %#v, want %#v", doc, got, want)
	}
}

// same takes an empty list for an absent one.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(bytes.ReplaceAll(x, []byte("null"), []byte("[]")), bytes.ReplaceAll(y, []byte("null"), []byte("[]")))
}

func FuzzStringsAreWrittenAsEncodingJSONWritesThem(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b", `a\b`, "<&>", "é\u2028", "\x00\x7f", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var w writer
		if got := w.str(s).buf; !bytes.Equal(got, want) {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func BenchmarkStream54Events(b *testing.B) {
	var answer bytes.Buffer
	add := func(event string) { answer.WriteString("data: " + event + "\n\n") }
	add(`{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`)
	for range 51 {
		add(`{"type":"response.output_text.delta","output_index":0,"delta":"hello "}`)
	}
	add(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}`)
	add(`{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"m","output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":40},"output_tokens":10,"output_tokens_details":{"reasoning_tokens":2}}}}`)
	in := bufio.NewReaderSize(nil, 32<<10)
	b.SetBytes(int64(answer.Len()))
	b.ReportAllocs()
	for b.Loop() {
		in.Reset(bytes.NewReader(answer.Bytes()))
		events := NewDecoder(in)
		var s Stream
		for end := false; !end; {
			ev, err := events.Next()
			if err != nil {
				b.Fatal(err)
			}
			if end, err = s.Add(ev); err != nil {
				b.Fatal(err)
			}
		}
		if a, err := s.Answer(); err != nil || len(a.Messages) != 1 {
			b.Fatalf("%+v %v", a, err)
		}
	}
}
