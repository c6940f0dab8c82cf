package onceward

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of JSON that comes from outside.
const maxDepth = 256

// Canonical returns raw in the one form that survives every trip through
// Temporal's JSON converter: compact, with Go's escapes, valid UTF-8 and
// well-formed UTF-16. The order of keys and the digits of numbers stay as they
// came. Only an object is accepted.
func Canonical(raw []byte) (json.RawMessage, error) {
	if err := checkDepth(raw); err != nil {
		return nil, err
	}
	valid := raw
	if !utf8.Valid(raw) { // ToValidUTF8 would copy what needs no repair
		valid = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	fixed := repairSurrogates(valid)
	out, err := json.Marshal(json.RawMessage(fixed)) // compacts and escapes as the converter will
	if err != nil {
		return nil, fmt.Errorf("compact: %w", err)
	}
	if len(out) == 0 || out[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	return out, nil
}

// checkDepth refuses deep nesting before any decoder recurses into it.
func checkDepth(raw []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("nested deeper than %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// repairSurrogates replaces \uXXXX escapes that are half of a surrogate pair:
// one decoder reads them as U+FFFD, another refuses the whole document.
func repairSurrogates(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			continue
		}
		first, ok := escapeAt(raw, i)
		if !ok {
			out = append(out, raw[i], raw[i+1])
			i++
			continue
		}
		if !utf16.IsSurrogate(first) {
			out = append(out, raw[i:i+6]...)
			i += 5
			continue
		}
		second, ok := escapeAt(raw, i+6)
		if ok && utf16.DecodeRune(first, second) != utf8.RuneError {
			out = append(out, raw[i:i+12]...)
			i += 11
			continue
		}
		out = append(out, `\ufffd`...)
		i += 5
	}
	return out
}

// escapeAt reads a \uXXXX escape that starts at i.
func escapeAt(raw []byte, i int) (rune, bool) {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 32)
	return rune(v), err == nil
}

// CheckKeys refuses an object in which two keys are the same or differ only in
// case, at any depth: Go's decoder would let the last one win silently, so that
// an approval could show one amount and the tool receive another.
func CheckKeys(raw []byte) error {
	if err := checkDepth(raw); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	type level struct {
		keys  map[string]string // nil in an array
		isKey bool
	}
	var stack []level
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read arguments: %w", err)
		}
		top := len(stack) - 1
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:top]
			continue
		}
		if top >= 0 && stack[top].keys != nil && stack[top].isKey {
			key, _ := token.(string)
			folded := strings.ToLower(strings.ToUpper(key)) // fold as encoding/json does: by simple case folding
			if first, ok := stack[top].keys[folded]; ok {
				return fmt.Errorf("keys %q and %q are the same argument twice", first, key)
			}
			stack[top].keys[folded] = key
			stack[top].isKey = false
			continue
		}
		if top >= 0 {
			stack[top].isKey = stack[top].keys != nil
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]string{}, isKey: true})
		case json.Delim('['):
			stack = append(stack, level{})
		}
	}
}
