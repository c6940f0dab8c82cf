package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Bounds of a stream. A host that never stops must not fill the memory.
const (
	MaxEvent  = 8 << 20  // bytes of one event
	MaxStream = 32 << 20 // bytes of one answer
)

// ErrTooLarge is returned for an answer beyond the bounds.
var ErrTooLarge = errors.New("answer too large")

// Event is one event of a stream. Data is valid until the next call of Next.
type Event struct {
	Name string // of the event line; may be empty
	Data []byte
}

// Decoder reads server-sent events. It takes LF, CRLF and CR line ends,
// comments, unknown fields and a missing blank line at the end, and gives no
// meaning to what the data holds. Make it with NewDecoder.
type Decoder struct {
	in      *bufio.Reader
	total   int
	line    []byte // longer than the reader's buffer
	data    []byte
	name    string // of the last event line: most repeat it
	afterCR bool   // the last line ended with one
	begun   bool
}

// NewDecoder reads from r.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{in: bufio.NewReaderSize(r, 32<<10), data: make([]byte, 0, 1<<10)}
}

// Next returns the next event that has data. The error is io.EOF at the end,
// ErrTooLarge, or the reader's.
func (d *Decoder) Next() (Event, error) {
	d.data = d.data[:0]
	var ev Event
	has := false
	for {
		line, err := d.readLine()
		if err != nil && len(line) == 0 {
			if has && errors.Is(err, io.EOF) {
				ev.Data = d.data // the blank line that completes it is missing: its JSON will tell whether more is
				return ev, nil
			}
			return Event{}, err
		}
		if !d.begun {
			d.begun = true
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		if len(line) == 0 {
			if has {
				ev.Data = d.data
				return ev, nil
			}
			ev = Event{}
			continue
		}
		field, value := line, []byte(nil)
		if at := bytes.IndexByte(line, ':'); at >= 0 {
			field, value = line[:at], bytes.TrimPrefix(line[at+1:], blank)
		}
		switch string(field) {
		case "event":
			if d.name != string(value) {
				d.name = string(value)
			}
			ev.Name = d.name
		case "data":
			if has {
				d.data = append(d.data, '\n')
			}
			d.data = append(d.data, value...)
			has = true
		}
		if len(d.data) > MaxEvent {
			return Event{}, fmt.Errorf("%w: an event of more than %d bytes", ErrTooLarge, MaxEvent)
		}
	}
}

var blank = []byte(" ")

// readLine returns a line without its end, which is there as soon as its end has
// come: a lone CR is not waited past for the LF that would follow it, or the last
// event of a stream that is kept open would never be read. At the end of the input
// it returns what is left and no error, then the error. The line is valid until the
// next call.
func (d *Decoder) readLine() ([]byte, error) {
	d.line = d.line[:0]
	for from := 0; ; {
		piece, _ := d.in.Peek(d.in.Buffered())
		if d.afterCR && len(piece) > 0 { // the LF of a CRLF of which the CR came before
			d.afterCR = false
			if piece[0] == '\n' {
				d.take(1)
				continue
			}
		}
		if at := lineEnd(piece[from:]); at >= 0 {
			at += from
			line := piece[:at]
			if len(d.line) > 0 {
				d.line = append(d.line, line...)
				line = d.line
			}
			d.afterCR = piece[at] == '\r'
			d.take(at + 1)
			return d.bounded(line)
		}
		from = len(piece)
		if len(piece) == d.in.Size() { // keep it, and make room
			d.line = append(d.line, piece...)
			d.take(len(piece))
			from = 0
			if _, err := d.bounded(d.line); err != nil {
				return nil, err
			}
		}
		_, err := d.in.Peek(from + 1)
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return nil, err // a broken line of a broken stream says nothing
		}
		rest, _ := d.in.Peek(d.in.Buffered())
		d.line = append(d.line, rest...)
		d.take(len(rest))
		if len(d.line) == 0 {
			return nil, err
		}
		return d.bounded(d.line)
	}
}

// take moves past bytes that were looked at.
func (d *Decoder) take(n int) {
	_, _ = d.in.Discard(n) // they are buffered
	d.total += n
}

// bounded returns the line if the bounds allow it.
func (d *Decoder) bounded(line []byte) ([]byte, error) {
	switch {
	case d.total > MaxStream:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxStream)
	case len(line) > MaxEvent+1024:
		return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, MaxEvent)
	}
	return line, nil
}

// lineEnd returns where the first line end is, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:lf], '\r'); cr >= 0 {
		return cr
	}
	return lf
}
