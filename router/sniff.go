package router

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/onceward/onceward/router/page"
)

// byteOrderMark stands before what some hosts and proxies write.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// sniff tells events from a JSON answer by what they begin with. Hosts mislabel
// both, so that the label counts only where the content says nothing: in an empty
// answer, or in one that is neither. What it looks at stays to be read, but the
// blanks and byte order marks before it, which no reader of JSON takes.
func sniff(contentType string, in *bufio.Reader) (stream bool, err error) {
	labelled := strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "text/event-stream")
	for n := 1; ; n++ {
		n = max(n, in.Buffered())
		begin, err := in.Peek(n)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return false, err
		}
		if blanks := leading(begin); blanks > 0 && blanks < len(begin) {
			_, _ = in.Discard(blanks) // they are buffered
			n = 0
			continue
		}
		switch beginning(begin) {
		case ofStream:
			return true, nil
		case ofJSON:
			return false, nil
		case ofNeither:
			switch {
			case err == nil && len(begin) < 16: // too little to tell
			case page.Opaque(begin): // compressed, though nobody asked for it
				return false, nil
			case labelled || hasField(begin): // after a field that nobody knows
				return true, nil
			}
		}
		if err != nil { // all there is, or more blanks than anybody sends
			return labelled, nil
		}
	}
}

// start is what the first bytes of an answer say of the rest.
type start int

const (
	notYet start = iota
	ofStream
	ofJSON // or of a page
	ofNeither
)

// leading counts the blanks and byte order marks at the beginning: some hosts write
// one mark after another, or an empty line before it.
func leading(begin []byte) int {
	rest := begin
	for {
		less := bytes.TrimPrefix(bytes.TrimLeft(rest, " \t\r\n"), byteOrderMark)
		if len(less) == len(rest) {
			return len(begin) - len(rest)
		}
		rest = less
	}
}

// hasField reports whether a later line is one of an event.
func hasField(begin []byte) bool {
	for _, name := range [...]string{"data:", "event:"} {
		if bytes.Contains(begin, []byte("\n"+name)) || bytes.Contains(begin, []byte("\r"+name)) {
			return true
		}
	}
	return false
}

// beginning looks past blanks: they stand between events, and keep the connection
// of a JSON answer alive that takes its time.
func beginning(begin []byte) start {
	begin = begin[leading(begin):]
	if len(begin) == 0 || len(begin) < len(byteOrderMark) && bytes.HasPrefix(byteOrderMark, begin) {
		return notYet
	}
	switch begin[0] {
	case '{', '[', '<', '"':
		return ofJSON
	case ':': // a comment
		return ofStream
	}
	for _, field := range [...]string{"data", "event", "id", "retry"} {
		rest, is := bytes.CutPrefix(begin, []byte(field))
		switch {
		case is && len(rest) > 0 && (rest[0] == ':' || rest[0] == '\r' || rest[0] == '\n'):
			return ofStream
		case is && len(rest) == 0, strings.HasPrefix(field, string(begin)):
			return notYet // the rest of the name may come
		}
	}
	return ofNeither
}
