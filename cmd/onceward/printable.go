package main

import (
	"encoding/json"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// printable is a writer that passes on what a terminal may show. All that the
// command line prints goes through one: what is written by a model, a product or a
// server may stand in every text of ours, an error included.
type printable struct {
	mu   sync.Mutex
	w    io.Writer
	edit func([]byte) []byte
	held []byte // the beginning of a character whose end has not come
}

// printableText cleans texts, printableJSON writes JSON so that it says the same.
func printableText(w io.Writer) io.Writer {
	return &printable{w: w, edit: func(p []byte) []byte { return []byte(onceward.Printable(string(p))) }}
}

func printableJSON(w io.Writer) io.Writer {
	return &printable{w: w, edit: onceward.PrintableJSON}
}

func (p *printable) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append(p.held, text...)
	whole := len(all)
	for n := 1; n < utf8.UTFMax && n <= len(all); n++ {
		if at := len(all) - n; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				whole = at
			}
			break
		}
	}
	p.held = append([]byte(nil), all[whole:]...)
	if _, err := p.w.Write(p.edit(all[:whole])); err != nil {
		return 0, err
	}
	return len(text), nil
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(printableJSON(w))
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
