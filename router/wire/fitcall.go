package wire

import (
	"encoding/json"
	"strings"

	"github.com/onceward/onceward"
)

// arguments returns the arguments of a call as hosts take them.
func (f *Fit) arguments(value []byte) []byte {
	if value[0] == '"' && plainObject(value) {
		return value
	}
	written := string(value) // some hosts send the object itself
	if value[0] == '"' && json.Unmarshal(value, &written) != nil {
		return value
	}
	fitted := f.Arguments(written)
	if value[0] == '"' && fitted == written {
		return value
	}
	if fitted == written {
		f.noted[notedArguments]++
	}
	return quoted(fitted, nil)
}

// plainObject reports a string with an object in it that nothing can be wrong
// with but that it is not complete, which was looked at when it came.
func plainObject(value []byte) bool {
	return len(value) > 3 && value[1] == '{' && value[len(value)-2] == '}' && !strings.Contains(string(value), `\\u`)
}

// Arguments returns arguments that every host can read: the text of an object,
// without half surrogate pairs. A model can leave them blank, or write null or a
// list; that call was answered, and repeated as it is it would have every later
// request of the run refused by a host that reads arguments.
func (f *Fit) Arguments(arguments string) string {
	trimmed := strings.TrimSpace(arguments)
	if !strings.HasPrefix(trimmed, "{") || !json.Valid([]byte(trimmed)) {
		f.noted[notedArguments]++
		return "{}"
	}
	if halfPair(trimmed) {
		if whole, err := onceward.Canonical([]byte(trimmed)); err == nil {
			f.noted[notedSurrogates]++
			return string(whole)
		}
	}
	return arguments
}

// halfPair reports whether JSON has an escape of a surrogate that lacks its other
// half.
func halfPair(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		high, low := surrogate(s[i:])
		switch {
		case low:
			return true
		case high:
			if _, low := surrogate(s[min(i+6, len(s)):]); !low {
				return true
			}
			i += 11
		default:
			i++ // an escaped backslash begins no escape
		}
	}
	return false
}

// surrogate says which half of a pair, if any, the escape at the beginning is.
func surrogate(s string) (high, low bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' || s[2]|0x20 != 'd' {
		return false, false
	}
	switch s[3] | 0x20 {
	case '8', '9', 'a', 'b':
		return true, false
	case 'c', 'd', 'e', 'f':
		return false, true
	}
	return false, false
}

// maxName is the longest name of a function that hosts take.
const maxName = 64

// Name returns a name that hosts take in a call. A model can write a name that
// nobody declared; the call was answered, and repeated as it is it would have
// every later request of the run refused.
func (f *Fit) Name(name string) string {
	fitted := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if fitted = fitted[:min(len(fitted), maxName)]; fitted == "" {
		fitted = "_" // an empty one is refused as well
	}
	if fitted != name {
		f.noted[notedNames]++
	}
	return fitted
}
