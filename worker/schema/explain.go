package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxExplained bounds how many corrections a model is told at once.
const maxExplained = 10

// explainer walks a value that the library refused and says where and why, for
// the keywords this package uses. The library decides; this only finds words.
type explainer struct {
	root  *jsonschema.Schema
	found []string
}

func (e *explainer) say(path, format string, args ...any) {
	if len(e.found) < maxExplained {
		if path != "" {
			path += ": "
		}
		e.found = append(e.found, path+fmt.Sprintf(format, args...))
	}
}

func (e *explainer) explain(path string, s *jsonschema.Schema, value any) {
	for s.Ref != "" || len(s.AnyOf) > 0 {
		switch {
		case s.Ref == "#":
			s = e.root
		case s.Ref != "":
			s = e.root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		case value == nil && len(s.AnyOf) > 1:
			return
		default:
			s = s.AnyOf[0]
		}
		if s == nil {
			return
		}
	}
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if got := typeOf(value); !slices.Contains(types, got) && (got != "integer" || !slices.Contains(types, "number")) {
		e.say(path, "must be %s, not %s", strings.Join(types, " or "), got)
		return
	}
	switch v := value.(type) {
	case map[string]any:
		e.object(path, s, v)
	case []any:
		if s.MinItems != nil && (len(v) < *s.MinItems || len(v) > *s.MaxItems) {
			e.say(path, "must have %d items, not %d", *s.MinItems, len(v))
		}
		for i, item := range v {
			e.explain(fmt.Sprintf("%s[%d]", path, i), s.Items, item)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum {
			e.say(path, "must be at least %.0f, not %v", *s.Minimum, v)
		}
		if s.Maximum != nil && v > *s.Maximum {
			e.say(path, "must be at most %.0f, not %v", *s.Maximum, v)
		}
	}
}

func (e *explainer) object(path string, s *jsonschema.Schema, v map[string]any) {
	for _, key := range s.PropertyOrder {
		if member, ok := v[key]; ok {
			e.explain(join(path, key), s.Properties[key], member)
		} else if slices.Contains(s.Required, key) {
			e.say(join(path, key), "is missing")
		}
	}
	var unknown []string
	for key := range v {
		if s.Properties[key] == nil {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		e.say(join(path, clipKey(key)), "is not a known key; the keys are: %s", strings.Join(s.PropertyOrder, ", "))
	}
}

// clipKey bounds a key the model made up.
func clipKey(key string) string {
	if len(key) > 64 {
		return strings.ToValidUTF8(key[:64], "") + "..."
	}
	return key
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "unknown"
}
