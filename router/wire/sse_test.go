package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func decode(in io.Reader) (events []string, err error) {
	d := NewDecoder(in)
	for {
		ev, err := d.Next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, ev.Name+"|"+string(ev.Data))
	}
}

func TestDecoderTakesEveryDialect(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"plain":                  {"data: {}\n\n", []string{"|{}"}},
		"event name":             {"event: x\ndata: {}\n\n", []string{"x|{}"}},
		"crlf":                   {"event: x\r\ndata: {}\r\n\r\n", []string{"x|{}"}},
		"cr alone":               {"event: x\rdata: {}\r\rdata: 2\r\r", []string{"x|{}", "|2"}},
		"no space":               {"data:{}\n\n", []string{"|{}"}},
		"comment and retry":      {": hello\nretry: 10\nid: 7\ndata: 1\n\n: bye\n\n", []string{"|1"}},
		"ping without data":      {"event: ping\n\ndata: 1\n\n", []string{"|1"}},
		"two data lines":         {"data: a\ndata: b\n\n", []string{"|a\nb"}},
		"empty data":             {"data\n\n", []string{"|"}},
		"no final blank line":    {"data: 1\n\ndata: 2\n", []string{"|1", "|2"}},
		"no final line end":      {"data: 1\n\ndata: 2", []string{"|1", "|2"}},
		"byte order mark":        {"\xEF\xBB\xBFdata: 1\n\n", []string{"|1"}},
		"blank lines between":    {"\n\n\ndata: 1\n\n\n\ndata: 2\n\n", []string{"|1", "|2"}},
		"unknown field":          {"foo: bar\ndata: 1\n\n", []string{"|1"}},
		"name does not carry on": {"event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1", "|2"}},
		"error key":              {"event: error\ndata: {\"error\":null}\n\ndata: 2\n\n", []string{"error|{\"error\":null}", "|2"}},
		"nothing":                {"", nil},
	} {
		for how, in := range map[string]io.Reader{
			"at once": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
			"data with the error": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			got, err := decode(in)
			if err != nil || strings.Join(got, "~") != strings.Join(c.want, "~") {
				t.Errorf("%s, %s: %q, %v, want %q", name, how, got, err, c.want)
			}
		}
	}
}

// E18: a stream with lone CRs is read while it is kept open. The reader has no
// more to give after each part, and says so.
func TestDecoderWaitsForNothingAfterTheEndOfAnEvent(t *testing.T) {
	for name, parts := range map[string][]string{
		"lf":                       {"data: 1\n\n", "data: 2\n\n"},
		"crlf":                     {"data: 1\r\n\r\n", "data: 2\r\n\r\n"},
		"E18 cr":                   {"data: 1\r\r", "data: 2\r\r"},
		"E18 crlf cut in the pair": {"data: 1\r\n\r", "\ndata: 2\r\n\r"},
		"E18 a mark, blanks, cr":   {"\xEF\xBB\xBF\r\rdata: 1\r\r", "data: 2\r\r"},
	} {
		in := &halting{parts: parts}
		d := NewDecoder(in)
		for i := range parts {
			ev, err := d.Next()
			if err != nil || string(ev.Data) != string(rune('1'+i)) || in.given > i+1 {
				t.Fatalf("%s: event %d is %q, %v, after %d parts", name, i, ev.Data, err, in.given)
			}
		}
		if _, err := d.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v at the end", name, err)
		}
	}
}

// halting gives a part with each read, and counts.
type halting struct {
	parts []string
	given int
}

func (h *halting) Read(p []byte) (int, error) {
	if h.given == len(h.parts) {
		return 0, io.EOF
	}
	h.given++
	return copy(p, h.parts[h.given-1]), nil
}

func TestDecoderIsBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), repeat("x"))
	if _, err := decode(endless); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one endless event: %v", err)
	}
	if _, err := decode(repeat("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("endless lines of one event: %v", err)
	}
	if _, err := decode(repeat(": comment\n\n")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("endless comments: %v", err)
	}
}

func TestDecoderPassesOnTheReadersError(t *testing.T) {
	broken := errors.New("broken")
	got, err := decode(io.MultiReader(strings.NewReader("data: 1\n\ndata: {\"cu"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

type endless struct {
	text string
	at   int
}

func repeat(text string) io.Reader { return &endless{text: text} }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[e.at]
		e.at = (e.at + 1) % len(e.text)
	}
	return len(p), nil
}

func FuzzDecoder(f *testing.F) {
	f.Add("data: {\"type\":\"error\"}\n\n")
	f.Add("event: a\r\ndata: 1\r\r\n\n:")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := decode(strings.NewReader(in))
		split, err2 := decode(iotest.OneByteReader(strings.NewReader(in)))
		if (err == nil) != (err2 == nil) || strings.Join(whole, "~") != strings.Join(split, "~") {
			t.Fatalf("%q: %q %v, byte by byte %q %v", in, whole, err, split, err2)
		}
		var s Stream
		d := NewDecoder(strings.NewReader(in))
		for {
			ev, err := d.Next()
			if err != nil {
				break
			}
			if _, err := s.Add(ev); err != nil {
				break
			}
		}
		_, _ = s.Answer()
	})
}

// corpus is where recorded traffic lies; make corpus sets it.
func corpus(t *testing.T, pattern string) []string {
	t.Helper()
	dir := os.Getenv("CORPUS_CASES")
	if dir == "" {
		t.Skip("CORPUS_CASES is not set: recorded traffic is not part of this repository (make corpus)")
	}
	var files []string
	for _, d := range []string{"fixtures/responses", "../fixtures/responses", "responses", "."} {
		files, _ = filepath.Glob(filepath.Join(dir, d, pattern))
		if len(files) > 0 {
			return files
		}
	}
	t.Fatalf("no %s below %s", pattern, dir)
	return nil
}

func TestCorpusBodiesAreRead(t *testing.T) {
	for _, file := range corpus(t, "*.1.json") {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(member(body, "object")) != `"response"` || text(member(body, "status")) != "completed" {
			continue
		}
		a, err := ReadAnswer(body)
		if err != nil || len(a.Items) == 0 || a.Model == "" || !a.Usage.Known {
			t.Errorf("%s: %d items, usage %+v, %v", filepath.Base(file), len(a.Items), a.Usage, err)
		}
	}
}

func TestCorpusStreamsAreRead(t *testing.T) {
	for _, file := range corpus(t, "*.chunks.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var b strings.Builder
			in := bufio.NewReader(f)
			for {
				line, err := in.ReadString('\n')
				if line = strings.TrimSpace(line); line != "" {
					b.WriteString("data: " + line + "\n\n")
				}
				if err != nil {
					break
				}
			}
			var s Stream
			d := NewDecoder(strings.NewReader(b.String()))
			for {
				ev, err := d.Next()
				if err != nil {
					t.Fatalf("no terminal event after %d: %v", s.Events, err)
				}
				terminal, err := s.Add(ev)
				if err != nil {
					t.Fatal(err)
				}
				if terminal {
					break
				}
			}
			if !s.Completed() {
				return
			}
			a, err := s.Answer()
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Items) == 0 || a.Usage.InputTokens == 0 {
				t.Errorf("%d items, usage %+v", len(a.Items), a.Usage)
			}
			ids := map[string]bool{}
			for _, raw := range a.Items {
				if !json.Valid(raw) {
					t.Errorf("item %s", raw)
				}
				if id := headOf(raw).ID; id != "" && ids[id] {
					t.Errorf("item %s twice", id)
				} else {
					ids[id] = true
				}
			}
		})
	}
}
