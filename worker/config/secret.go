package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a credential. It is kept behind a function, so that no printer,
// encoder or reflection can write it by accident: only Reveal returns it. The
// zero value is no credential. A Secret is immutable and safe for concurrent use.
type Secret struct{ reveal func() string }

// NewSecret returns value as a Secret.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return value }}
}

// Reveal returns the credential, or "".
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty reports whether there is no credential.
func (s Secret) Empty() bool { return s.reveal == nil }

func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return redacted
}

// GoString keeps %#v from printing more than String does.
func (s Secret) GoString() string { return "worker.Secret(" + s.String() + ")" }

// Format keeps every other verb, such as %x and %q, from reaching the value.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText serves encoding/json, yaml and slog's text handler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON writes the redacted form.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalYAML writes the redacted form.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
