package router

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// byteOrderMark stands before what some hosts and proxies write.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// sniff tells events from a JSON answer by what they begin with. Hosts mislabel
// both, so that the label counts only where the content says nothing: in an empty
// answer, or in one that is neither. What it looks at stays to be read, but a byte
// order mark, which no reader of JSON takes.
func sniff(contentType string, in *bufio.Reader) (stream bool, err error) {
	labelled := strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "text/event-stream")
	if mark, err := in.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = in.Discard(len(mark)) // it is buffered
	} else if err != nil && !errors.Is(err, io.EOF) && len(mark) == 0 {
		return false, err
	}
	for n := 1; ; n++ {
		n = max(n, in.Buffered())
		begin, err := in.Peek(n)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return false, err
		}
		switch beginning(begin) {
		case ofStream:
			return true, nil
		case ofJSON:
			return false, nil
		case ofNeither:
			return labelled, nil
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

// beginning looks past blanks: they stand between events, and keep the connection
// of a JSON answer alive that takes its time.
func beginning(begin []byte) start {
	begin = bytes.TrimLeft(begin, " \t\r\n")
	if len(begin) == 0 {
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
