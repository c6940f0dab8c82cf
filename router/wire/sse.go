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
	in    *bufio.Reader
	total int
	line  []byte // longer than the reader's buffer
	data  []byte
	name  string // of the last event line: most repeat it
	rest  []byte // of line, after a lone CR
	begun bool
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

var blank, newline, carriage = []byte(" "), []byte("\n"), []byte("\r")

// readLine returns a line without its end. At the end of the input it returns
// what is left and no error, then the error. The line is valid until the next call.
func (d *Decoder) readLine() ([]byte, error) {
	if d.rest != nil {
		line, rest, more := bytes.Cut(d.rest, []byte("\r"))
		d.rest = nil
		if more {
			d.rest = rest
		}
		return line, nil
	}
	line, err := d.in.ReadSlice('\n')
	d.total += len(line)
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = d.longLine(line)
	}
	switch {
	case d.total > MaxStream:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxStream)
	case len(line) > MaxEvent+1024:
		return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, MaxEvent)
	case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
		return nil, err // a broken line of a broken stream says nothing
	}
	line = bytes.TrimSuffix(line, newline)
	line = bytes.TrimSuffix(line, carriage)
	if lone := bytes.IndexByte(line, '\r'); lone >= 0 {
		line, d.rest = line[:lone], line[lone+1:]
	}
	return line, nil
}

// longLine reads on after a piece that filled the reader's buffer, as far as the
// bounds allow.
func (d *Decoder) longLine(piece []byte) ([]byte, error) {
	d.line = append(d.line[:0], piece...)
	for d.total <= MaxStream && len(d.line) <= MaxEvent+1024 {
		part, err := d.in.ReadSlice('\n')
		d.total += len(part)
		d.line = append(d.line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return d.line, err
		}
	}
	return d.line, nil
}
