package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// members calls yield for each member of the JSON object raw, at its top level
// only, until yield returns false. key is without quotes, value as it stands.
// It returns false when raw is no object or ends early. Values are skipped, not
// validated: check with json.Valid where that matters.
func members(raw []byte, yield func(key, value []byte) bool) bool {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return false
	}
	i = space(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return true
	}
	for {
		end := skip(raw, i)
		if end < 0 || raw[i] != '"' {
			return false
		}
		key := raw[i+1 : end-1]
		i = space(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return false
		}
		i = space(raw, i+1)
		end = skip(raw, i)
		if end < 0 {
			return false
		}
		if !yield(key, raw[i:end]) {
			return true
		}
		i = space(raw, end)
		if i >= len(raw) {
			return false
		}
		switch raw[i] {
		case ',':
			i = space(raw, i+1)
		case '}':
			return true
		default:
			return false
		}
	}
}

func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value that starts at i, or -1.
func skip(raw []byte, i int) int {
	if i >= len(raw) {
		return -1
	}
	if raw[i] == '"' { // all keys, and most values of an event
		return pastString(raw, i)
	}
	depth := 0
	for start := i; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			end := pastString(raw, i)
			if end < 0 || depth == 0 {
				return end
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return scalar(start, i)
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return scalar(start, i)
			}
		}
	}
	if depth == 0 {
		return len(raw)
	}
	return -1
}

func scalar(start, end int) int {
	if end == start {
		return -1
	}
	return end
}

// pastString returns the end of the string that starts at i, or -1. It jumps
// from quote to quote: most bytes of a transcript are inside strings.
func pastString(raw []byte, i int) int {
	begin := i + 1
	for from := begin; ; {
		at := bytes.IndexByte(raw[from:], '"')
		if at < 0 {
			return -1
		}
		end, escapes := from+at, 0
		for k := end - 1; k >= begin && raw[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
		from = end + 1
	}
}

// member returns one top-level value of an object, or nil.
func member(raw []byte, name string) []byte {
	var found []byte
	members(raw, func(key, value []byte) bool {
		if string(key) == name {
			found = value
			return false
		}
		return true
	})
	return found
}

// text returns a string value without decoding escapes; it is for identifiers.
func text(value []byte) string { return string(inside(value)) }

// inside is text without a copy.
func inside(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	return value[1 : len(value)-1]
}

// empty reports whether a value says nothing: absent, null, "", [] or {}.
func empty(value []byte) bool {
	switch string(value) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// The functions below read valid JSON as encoding/json does, without its cost,
// and return false where they would not: the caller then asks encoding/json.

// plain is members for keys that encoding/json takes as they stand: it would
// match a capital or an escape with other names too.
func plain(raw []byte, yield func(key, value []byte) bool) bool {
	fine := true
	whole := members(raw, func(key, value []byte) bool {
		for _, c := range key {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
				fine = false
				return false
			}
		}
		fine = yield(key, value)
		return fine
	})
	return whole && fine
}

// elements calls yield for each element of a list until yield returns false.
// Null is a list without elements.
func elements(raw []byte, yield func(value []byte) bool) bool {
	if string(raw) == "null" {
		return true
	}
	if len(raw) == 0 || raw[0] != '[' {
		return false
	}
	i := space(raw, 1)
	for i < len(raw) && raw[i] != ']' {
		end := skip(raw, i)
		if end < 0 || !yield(raw[i:end]) {
			return false
		}
		if i = space(raw, end); i < len(raw) && raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
	return i < len(raw)
}

// setText sets a string; null leaves it as it is.
func setText(to *string, value []byte) bool {
	if string(value) == "null" {
		return true
	}
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	for _, c := range value {
		if c == '\\' || c < ' ' || c > '~' {
			return json.Unmarshal(value, to) == nil
		}
	}
	*to = string(value[1 : len(value)-1])
	return true
}

// setCount sets a whole number; null leaves it as it is.
func setCount(to *int, value []byte) bool {
	if string(value) == "null" {
		return true
	}
	if len(value) == 0 || len(value) > 9 || value[0] < '0' || value[0] > '9' {
		return false
	}
	n, err := strconv.Atoi(string(value))
	*to = n
	return err == nil
}
