package router

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/onceward/onceward"
)

// E18: what an answer is decides how it is read, not what it is called.
func TestStreamIsKnownByItsContent(t *testing.T) {
	const data = "data: {}\n\n"
	for name, c := range map[string]struct {
		label, begin string
		stream       bool
	}{
		"E18 a mark and no label":              {"", "\xEF\xBB\xBF" + data, true},
		"E18 a mark and a wrong label":         {"application/json", "\xEF\xBB\xBF" + data, true},
		"E18 the label of a page":              {"text/html; charset=utf-8", "event: response.created\n" + data, true},
		"blank lines before":                   {"text/plain", "\n\r\n\n" + data, true},
		"comments before":                      {"", ": PROCESSING\n\n: PROCESSING\n\n" + data, true},
		"lone CRs":                             {"", "\r\rdata: {}\r\r", true},
		"no space after the colon":             {"", "data:{}\n\n", true},
		"a field without a value":              {"", "data\n\n", true},
		"an id first":                          {"", "id: 7\n" + data, true},
		"another field, labelled":              {"text/event-stream", "foo: bar\n" + data, true},
		"E18 another field, not labelled":      {"", "foo: bar\n" + data, true},
		"E18 two marks":                        {"", "\xEF\xBB\xBF\xEF\xBB\xBF" + data, true},
		"E18 a mark after an empty line":       {"application/json", "\r\n\xEF\xBB\xBF" + data, true},
		"E18 JSON after both":                  {"text/event-stream", "\n\xEF\xBB\xBF{}", false},
		"a text of lines":                      {"", "error: upstream\nmessage: gone\n", false},
		"JSON under the label of events":       {"text/event-stream", `{"id":"r"}`, false},
		"JSON after a mark":                    {"text/event-stream", "\xEF\xBB\xBF" + `{"id":"r"}`, false},
		"JSON after blanks that kept it alive": {"text/event-stream", "\n  \r\n" + `{"id":"r"}`, false},
		"E02 something compressed":             {"text/event-stream", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", false},
		"E02 a page in UTF-16":                 {"text/event-stream", "\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00", false},
		"a field in other letters":             {"text/event-stream", "поле: x\n" + data, true},
		"a page":                               {"text/event-stream", "<html>", false},
		"a word that only begins like a field": {"", "database is down", false},
		"a text":                               {"text/plain", "event loop stalled", false},
		"nothing, labelled":                    {"Text/Event-Stream; charset=utf-8", "", true},
		"nothing":                              {"", "", false},
		"half a mark":                          {"", "\xEF\xBB", false},
		"only blanks, labelled":                {"text/event-stream", "\n\n", true},
		"the beginning of a field":             {"", "dat", false},
	} {
		for how, in := range map[string]io.Reader{"at once": strings.NewReader(c.begin), "byte by byte": iotest.OneByteReader(strings.NewReader(c.begin))} {
			buffered := bufio.NewReaderSize(in, 32<<10)
			got, err := sniff(c.label, buffered)
			if err != nil || got != c.stream {
				t.Errorf("%s, %s: stream %v, %v", name, how, got, err)
			}
			rest, err := io.ReadAll(buffered)
			if want := c.begin[leading([]byte(c.begin)):]; err != nil || strings.TrimLeft(string(rest), "\r\n \xEF\xBB\xBF") != want {
				t.Errorf("%s, %s: %q is left, %v", name, how, rest, err)
			}
		}
	}
}

func TestMislabelledAnswersAreRead(t *testing.T) {
	const mark = "\xEF\xBB\xBF"
	events := frames(evCreated, evAdded, evDone, evEnd)
	whole := `{"id":"resp_1","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":100,"output_tokens":10}}`
	chats := frames(chRole, chHi, chStop, chUsage, "[DONE]")
	for name, c := range map[string]struct{ api, label, body string }{
		"E18 events with a mark and no label":      {APIResponses, "", mark + events},
		"E18 events with a mark and a wrong one":   {APIResponses, "application/json", mark + events},
		"E18 events with lone CRs":                 {APIResponses, "application/octet-stream", strings.ReplaceAll(events, "\n", "\r")},
		"E18 events with CRLF after comments":      {APIResponses, "text/plain", strings.ReplaceAll("\n: hello\n\n"+events, "\n", "\r\n")},
		"E18 JSON under the label of events":       {APIResponses, "text/event-stream", whole},
		"E18 JSON after a mark and blanks":         {APIResponses, "text/event-stream", mark + "\n\n" + whole},
		"E18 chat events with a mark and no label": {APIChatCompletions, "", mark + chats},
		"E18 chat events with lone CRs":            {APIChatCompletions, "text/html", strings.ReplaceAll(chats, "\n", "\r")},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, c.label, c.body))
			to := resource("a", s.URL)
			if c.api == APIChatCompletions {
				to = chatResource("a", s.URL)
			}
			r := pool(t, Config{}, to)
			res, err := r.Call(context.Background(), routed(t, r, "a"))
			if err != nil || res.Text != "hi" || res.CostBasis != onceward.CostMeasured {
				t.Errorf("text %q, cost basis %s, %v", res.Text, res.CostBasis, err)
			}
		})
	}
}
