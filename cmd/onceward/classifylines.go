package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/classify"
)

// maxLine bounds one input line; a longer one is answered with an error.
const maxLine = 4 << 20

// failedAnswer is one line of input.
type failedAnswer struct {
	ID        json.RawMessage            `json:"id"`
	Transport classify.Transport         `json:"transport"`
	Status    *int                       `json:"status"`
	Headers   map[string]json.RawMessage `json:"headers"`
	Body      json.RawMessage            `json:"body"`
}

// classified is one line of output.
type classified struct {
	ID               json.RawMessage      `json:"id"`
	Class            onceward.Class       `json:"class"`
	StateEffect      onceward.StateEffect `json:"state_effect"`
	FallbackEligible bool                 `json:"fallback_eligible"`
	Retryable        bool                 `json:"retryable"`
	RetryAfterMS     *int64               `json:"retry_after_ms"`
	Scope            onceward.Scope       `json:"scope"`
	Repair           *onceward.Repair     `json:"repair"`
}

type lineError struct {
	ID    json.RawMessage `json:"id"`
	Line  int             `json:"line"`
	Error string          `json:"error"`
}

// classifyLines classifies JSONL: one object {id, transport, status, headers, body} a
// line in, one object {id, class, state_effect, fallback_eligible, retryable,
// retry_after_ms, scope, repair} a line out, in order. Empty lines are skipped.
// A line that cannot be read yields {id, line, error} and the stream goes on.
// The error is that of reading r or writing w.
func classifyLines(r io.Reader, w io.Writer) error {
	in := bufio.NewReaderSize(r, 64<<10)
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for n := 1; ; n++ {
		line, tooLong, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read line %d: %w", n, err)
		}
		if len(line) > 0 || tooLong {
			if werr := enc.Encode(answerLine(line, n, tooLong)); werr != nil {
				return fmt.Errorf("write line %d: %w", n, werr)
			}
			if in.Buffered() == 0 { // a reader at the other end of a pipe waits for it
				if werr := out.Flush(); werr != nil {
					return fmt.Errorf("write line %d: %w", n, werr)
				}
			}
		}
		if err != nil {
			break
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// readLine returns a line without white space around it. What is longer than
// maxLine is read to its end and dropped.
func readLine(in *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSpace(line), tooLong, err
	}
}

func answerLine(line []byte, n int, tooLong bool) any {
	if tooLong {
		return lineError{ID: json.RawMessage("null"), Line: n, Error: fmt.Sprintf("line is longer than %d bytes", maxLine)}
	}
	var rec failedAnswer
	if err := json.Unmarshal(line, &rec); err != nil {
		return lineError{ID: idOf(rec.ID), Line: n, Error: fmt.Sprintf("decode line: %v", err)}
	}
	if line[0] != '{' { // null decodes into anything, and says nothing
		return lineError{ID: json.RawMessage("null"), Line: n, Error: "decode line: not an object"}
	}
	body, err := bodyOf(rec.Body)
	if err != nil {
		return lineError{ID: idOf(rec.ID), Line: n, Error: err.Error()}
	}
	in := classify.Input{Transport: rec.Transport, Header: headersOf(rec.Headers), Body: body, Now: time.Now()}
	switch rec.Transport {
	case "", classify.HTTP, classify.SSE, classify.WebSocket, classify.Connection:
	default:
		return lineError{ID: idOf(rec.ID), Line: n, Error: fmt.Sprintf("unknown transport %q", onceward.Cut(string(rec.Transport), 40))}
	}
	if rec.Status != nil {
		in.Status = *rec.Status
	}
	f := classify.Classify(in)
	a := classified{ID: idOf(rec.ID), Class: f.Class, StateEffect: f.StateEffect, FallbackEligible: f.FallbackEligible, Retryable: f.Retryable, Scope: f.Scope}
	if f.RetryAfter > 0 {
		ms := f.RetryAfter.Milliseconds()
		a.RetryAfterMS = &ms
	}
	if f.Repair != onceward.RepairNone {
		a.Repair = &f.Repair
	}
	return a
}

func idOf(id json.RawMessage) json.RawMessage {
	if len(id) == 0 {
		return json.RawMessage("null")
	}
	return id
}

// bodyOf takes a body as a string, or as the JSON that it is.
func bodyOf(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("decode body: %w", err)
		}
		return []byte(s), nil
	}
	return raw, nil
}

// headersOf takes header values as strings, numbers or lists of strings.
func headersOf(m map[string]json.RawMessage) http.Header {
	if len(m) == 0 {
		return nil
	}
	h := make(http.Header, len(m))
	for k, raw := range m {
		var one string
		var many []string
		switch {
		case json.Unmarshal(raw, &one) == nil:
			h.Set(k, one)
		case json.Unmarshal(raw, &many) == nil:
			for _, v := range many {
				h.Add(k, v)
			}
		default:
			h.Set(k, string(raw))
		}
	}
	return h
}
