package judges

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// recording is one recorded answer: the events of a stream, or a body.
type recording struct {
	name   string
	events [][]byte
	body   []byte
}

// recordings reads the recorded traffic. A file of events may hold the answers
// of several requests, one after the other.
func recordings(t *testing.T) []recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cases(t, "fixtures", "responses"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, isStream := strings.CutSuffix(filepath.Base(file), ".chunks.txt")
		if !isStream {
			all = append(all, recording{name: name, body: data})
			continue
		}
		n := 0
		for _, event := range bytes.Split(data, []byte("\n")) {
			if event = bytes.TrimSpace(event); len(event) == 0 {
				continue
			}
			if n == 0 || typeOf(t, event) == "response.created" {
				n++
				all = append(all, recording{name: fmt.Sprintf("%s, answer %d", name, n)})
			}
			last := &all[len(all)-1]
			last.events = append(last.events, event)
		}
	}
	if len(all) < 50 {
		t.Fatalf("%d recorded answers: the folder was not understood", len(all))
	}
	return all
}

func typeOf(t *testing.T, raw []byte) string {
	t.Helper()
	var v struct{ Type string }
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("recorded event: %v", err)
	}
	return v.Type
}

// failures are the recorded answers that are none for an agent, with the class
// they must have. Calls that the client must carry out ask for something that no
// agent of this product has offered.
var failures = map[string]onceward.Class{
	"openai-error.1, answer 1":               onceward.ClassQuotaExhausted,
	"openai-error.1.json":                    onceward.ClassQuotaExhausted,
	"reasoning-model-temperature-error.json": onceward.ClassUnsupportedCapability,

	// E10: a call of a kind that nothing can answer is never dropped in silence.
	"openai-apply-patch-tool.1, answer 1":        onceward.ClassInvalidOutput,
	"openai-apply-patch-tool.1.json":             onceward.ClassInvalidOutput,
	"openai-apply-patch-tool-delete.1, answer 1": onceward.ClassInvalidOutput,
	"openai-image-generation-tool.1, answer 1":   onceward.ClassEmptyOutput, // the message after the image is blank
	"openai-image-generation-tool.1.json":        onceward.ClassEmptyOutput,
	"openai-local-shell-tool.1, answer 1":        onceward.ClassInvalidOutput,
	"openai-local-shell-tool.1.json":             onceward.ClassInvalidOutput,
	"openai-mcp-tool-approval.1, answer 1":       onceward.ClassInvalidOutput,
	"openai-mcp-tool-approval.1.json":            onceward.ClassInvalidOutput,
	"openai-shell-tool.1, answer 1":              onceward.ClassInvalidOutput,
	"openai-shell-tool.1.json":                   onceward.ClassInvalidOutput,
}

// replay is a resource that gives the same answer to every request.
type replay struct {
	*httptest.Server
	requests atomic.Int64
	last     atomic.Value // the last body
}

func (r recording) serve(t *testing.T) *replay {
	t.Helper()
	status, contentType, answer := 200, "application/json", r.body
	if r.events != nil {
		contentType = "text/event-stream; charset=utf-8"
		var b bytes.Buffer
		for _, event := range r.events {
			fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", typeOf(t, event), event)
		}
		answer = b.Bytes()
	}
	switch r.name { // the status is not recorded
	case "openai-error.1.json":
		status = 429
	case "reasoning-model-temperature-error.json":
		status = 400
	}
	s := &replay{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		s.requests.Add(1)
		body, _ := io.ReadAll(q.Body)
		s.last.Store(body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s
}

// terminal returns the response object that ends the answer, or nil.
func (r recording) terminal() json.RawMessage {
	if r.body != nil {
		return r.body
	}
	var end struct{ Response json.RawMessage }
	if json.Unmarshal(r.events[len(r.events)-1], &end) != nil {
		return nil
	}
	return end.Response
}

// want works out the items of the answer in a way of its own: as its end lists
// them, or as they were streamed, by output_index, where its end lists none.
func (r recording) want(t *testing.T) []json.RawMessage {
	t.Helper()
	streamed := map[int]json.RawMessage{}
	for _, event := range r.events {
		var done struct {
			Type  string
			Index int `json:"output_index"`
			Item  json.RawMessage
		}
		if err := json.Unmarshal(event, &done); err != nil {
			t.Fatal(err)
		}
		if done.Type == "response.output_item.done" {
			streamed[done.Index] = done.Item
		}
	}
	var end struct{ Output []json.RawMessage }
	if err := json.Unmarshal(r.terminal(), &end); err != nil {
		t.Fatal(err)
	}
	switch {
	case len(streamed) == 0 || len(end.Output) == len(streamed):
		return end.Output
	case len(end.Output) > 0:
		t.Fatalf("%d items streamed, %d at the end: this test cannot join them", len(streamed), len(end.Output))
	}
	var items []json.RawMessage
	for _, i := range slices.Sorted(maps.Keys(streamed)) {
		items = append(items, streamed[i])
	}
	return items
}

// value decodes JSON with its numbers as they are written.
func value(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("decode %.200s: %v", raw, err)
	}
	return v
}

func TestCorpusRecordedAnswersKeepTheBytesOfTheirItems(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var got wire.Answer
			var err error
			source := r.body
			if r.events == nil {
				got, err = wire.ReadAnswer(r.body)
			} else {
				got, err = r.stream(t)
				source = bytes.Join(r.events, []byte("\n"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.refused() {
				if len(got.Items) != 0 {
					t.Errorf("an error has %d items", len(got.Items))
				}
				return
			}
			want := r.want(t)
			if len(got.Items) != len(want) || len(want) == 0 {
				t.Fatalf("%d items, recorded are %d", len(got.Items), len(want))
			}
			for i, raw := range got.Items {
				if !bytes.Contains(source, raw) {
					t.Errorf("item %d is not as it was recorded: %.300s", i, raw)
				}
				same(t, raw, want[i])
				stable(t, raw)
			}
		})
	}
}

// refused reports that the recording is an error object.
func (r recording) refused() bool {
	return slices.Contains([]onceward.Class{onceward.ClassQuotaExhausted, onceward.ClassUnsupportedCapability}, failures[r.name])
}

// stream reads the events as the router does, without the router's judgement.
func (r recording) stream(t *testing.T) (wire.Answer, error) {
	t.Helper()
	var b bytes.Buffer
	for _, event := range r.events {
		fmt.Fprintf(&b, "data: %s\n\n", event)
	}
	decoder := wire.NewDecoder(&b)
	var s wire.Stream
	for {
		event, err := decoder.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("no terminal event among %d", s.Events)
		}
		if err != nil {
			t.Fatal(err)
		}
		terminal, err := s.Add(event)
		if err != nil {
			t.Fatal(err)
		}
		if terminal {
			return s.Answer()
		}
	}
}

func same(t *testing.T, got, want []byte) {
	t.Helper()
	if !reflect.DeepEqual(value(t, got), value(t, want)) {
		t.Errorf("got  %.500s\nwant %.500s", got, want)
	}
}

// stable checks that the item keeps its meaning when it is canonicalised, and
// from then on its bytes and digest, over Temporal's converter and back.
func stable(t *testing.T, raw []byte) {
	t.Helper()
	made, err := onceward.NewItem(raw, "boundary")
	if err != nil {
		t.Fatal(err)
	}
	same(t, made.Raw, raw)
	data := converter.GetDefaultDataConverter()
	for trip := range 2 {
		payload, err := data.ToPayload(onceward.CallResult{Items: []onceward.Item{made}})
		if err != nil {
			t.Fatal(err)
		}
		var back onceward.CallResult
		if err := data.FromPayload(payload, &back); err != nil {
			t.Fatal(err)
		}
		again, err := onceward.NewItem(back.Items[0].Raw, "boundary")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back.Items[0], made) || again.Digest != made.Digest || onceward.DigestBytes(back.Items[0].Raw) != made.Digest {
			t.Errorf("trip %d changed the item: %.300s\nto %.300s", trip+1, made.Raw, back.Items[0].Raw)
		}
		made = back.Items[0]
	}
}

func TestCorpusRecordedAnswersComeThroughTheRouter(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	for name := range failures {
		unused[name] = true
	}
	for _, r := range recordings(t) {
		delete(unused, r.name)
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			server := r.serve(t)
			router := routerOf(t, resource("a", server.URL, able()))
			req := onceward.ModelRequest{Route: to("a"), Items: []onceward.Item{text(t, "user", "hello")}, Tools: refundTools(), Timeouts: patient()}
			res, f := call(t, router, req)
			if n := server.requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
			if class := failures[r.name]; class != "" {
				if f == nil {
					t.Fatalf("no failure, want %s", class)
				}
				if f.Class != class {
					t.Errorf("class %s, want %s: %s", f.Class, class, f.Message)
				}
				return
			}
			if f != nil {
				t.Fatalf("%s: %s", f.Class, f.Message)
			}
			want := r.want(t)
			if len(res.Items) != len(want) {
				t.Fatalf("%d items, recorded are %d", len(res.Items), len(want))
			}
			for i, got := range res.Items {
				same(t, got.Raw, want[i])
			}
			r.sameFacts(t, res)
			req.Items = append(append(req.Items, res.Items...), outputs(t, res)...)
			req.Items = append(req.Items, text(t, "user", "and now?"))
			mustCall(t, router, req)
			replayed(t, res.Items, server.last.Load().([]byte))
		})
	}
	for name := range unused {
		t.Errorf("stale failure: nothing was recorded as %q", name)
	}
}

// sameFacts compares text, calls and usage with the recording.
func (r recording) sameFacts(t *testing.T, res onceward.ModelResponse) {
	t.Helper()
	var end struct {
		Model string
		Usage struct {
			Input   int `json:"input_tokens"`
			Output  int `json:"output_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
		}
	}
	if err := json.Unmarshal(r.terminal(), &end); err != nil {
		t.Fatal(err)
	}
	u := res.Usage
	if res.ResponseModel != end.Model || u.InputTokens != end.Usage.Input || u.OutputTokens != end.Usage.Output || u.CachedTokens != end.Usage.Details.Cached || !u.Known {
		t.Errorf("model %q and usage %+v, recorded are %+v", res.ResponseModel, u, end)
	}
	said, calls := "", 0
	for i, raw := range r.want(t) {
		var item struct {
			Type, Name string
			CallID     string          `json:"call_id"`
			Arguments  json.RawMessage // a string, or the object of a hosted tool
			Content    []struct{ Text string }
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			t.Fatal(err)
		}
		switch item.Type {
		case "message":
			said = ""
			for _, part := range item.Content {
				said += part.Text
			}
		case "function_call":
			var arguments string
			if err := json.Unmarshal(item.Arguments, &arguments); err != nil {
				t.Fatal(err)
			}
			want := onceward.WireCall{CallID: item.CallID, Name: item.Name, Arguments: arguments, Index: i}
			if calls >= len(res.Calls) || res.Calls[calls] != want {
				t.Errorf("call %+v is missing among %+v", want, res.Calls)
			}
			calls++
		case "custom_tool_call": // E10: it is answered with an error of its own kind
			want := onceward.WireCall{CallID: item.CallID, Name: item.Name, Custom: true, Index: i}
			if calls >= len(res.Calls) || res.Calls[calls] != want {
				t.Errorf("custom call %+v is missing among %+v", want, res.Calls)
			}
			calls++
		}
	}
	if res.Text != said || len(res.Calls) != calls {
		t.Errorf("text %q and %d calls, recorded are %q and %d", res.Text, len(res.Calls), said, calls)
	}
}

func outputs(t *testing.T, res onceward.ModelResponse) []onceward.Item {
	t.Helper()
	var items []onceward.Item
	for _, c := range res.Calls {
		if c.Custom {
			items = append(items, onceward.CustomCallError(c.CallID, "unknown_tool", "there is none"))
			continue
		}
		items = append(items, output(t, c.CallID, "{}"))
	}
	return items
}

// replayed checks that the next request carries the items: all but reasoning
// that nothing was sealed in, and all of their members but those that hosts
// give out and do not take back, and ids whose reasoning is gone.
func replayed(t *testing.T, items []onceward.Item, body []byte) {
	t.Helper()
	var sent struct{ Input []json.RawMessage }
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	at := 1 // after the user's message
	for _, item := range items {
		want := value(t, item.Raw)
		if item.Type == "reasoning" {
			if sealed, _ := want["encrypted_content"].(string); sealed == "" {
				continue
			}
			delete(want, "status")
			delete(want, "content")
		}
		if at >= len(sent.Input) {
			t.Fatalf("the next request has %d items, and lacks %.200s", len(sent.Input), item.Raw)
		}
		got := value(t, sent.Input[at])
		at++
		delete(want, "created_by")
		// What is null says nothing, and hosts refuse most of it.
		maps.DeleteFunc(want, func(key string, v any) bool {
			_, kept := got[key]
			return v == nil && !kept
		})
		if got["id"] == nil {
			delete(want, "id")
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("replayed as %.400s\nwas         %.400s", sent.Input[at-1], item.Raw)
		}
	}
}
