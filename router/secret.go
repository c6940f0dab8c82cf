package router

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Secret is a key that is never printed: every way of formatting, encoding or
// logging it shows a placeholder. The zero value is no key.
type Secret string

const hidden = "[secret]"

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString implements fmt.GoStringer, which %#v uses.
func (s Secret) GoString() string { return s.String() }

// MarshalText implements encoding.TextMarshaler, which JSON uses as well.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// maxSecret bounds a credential: servers refuse longer headers.
const maxSecret = 8 << 10

// Check refuses a key that no host can have given out: one with anything in it
// but printable ASCII, which editors, mail and copied pages bring in unseen. The
// error names the place and the code point, never a part of the key.
func (s Secret) Check() error {
	if err := checkValue(string(s), false); err != nil {
		return err
	}
	if quoted(string(s)) {
		return errors.New("stands in quotes, which would be sent with it; leave them out")
	}
	return nil
}

func quoted(s string) bool {
	return len(s) > 1 && s[0] == s[len(s)-1] && strings.IndexByte("\"'`", s[0]) >= 0
}

// checkValue allows what a header can carry. Spaces are allowed inside, where a
// value may have them.
func checkValue(value string, spaces bool) error {
	if value == "" {
		return errors.New("is empty")
	}
	if len(value) > maxSecret {
		return fmt.Errorf("is longer than %d bytes", maxSecret)
	}
	place := 0
	for i, r := range value {
		place++
		switch {
		case r > ' ' && r <= '~':
		case r == ' ' && spaces && i > 0 && i < len(value)-1:
		case r == '\uFFFD' && !strings.HasPrefix(value[i:], "\uFFFD"):
			return fmt.Errorf("is no text in UTF-8: byte 0x%02X at character %d; save it as plain text", value[i], place)
		default:
			return fmt.Errorf("has U+%04X%s at character %d; only printable ASCII goes into a header", r, named(r), place)
		}
	}
	return nil
}

// named says what an invisible or deceiving character is.
func named(r rune) string {
	switch r {
	case ' ':
		return " (a space)"
	case '\t':
		return " (a tab)"
	case '\r', '\n':
		return " (a line break)"
	case 0:
		return " (NUL; is the file in UTF-16?)"
	case '\u00A0':
		return " (a no-break space)"
	case '\u200B':
		return " (a zero-width space)"
	case '\uFEFF':
		return " (a byte order mark)"
	case '\u2018', '\u2019', '\u201C', '\u201D':
		return " (a typographic quote)"
	}
	return ""
}
