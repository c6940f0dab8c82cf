package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

var (
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
	jsonWriter = reflect.TypeFor[json.Marshaler]()
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textWriter = reflect.TypeFor[encoding.TextMarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// field is a key of an object.
type field struct {
	key         string
	typ         reflect.Type
	optional    bool
	description string
	depth       int // of embedding; the shallower field hides the deeper one
}

// fieldsOf lists the keys of a struct as encoding/json has them, in the order
// of the fields, with embedded structs flattened.
func fieldsOf(t reflect.Type, path string) ([]field, error) {
	all, err := collect(t, path, 0, false)
	if err != nil {
		return nil, err
	}
	var out []field
	for _, f := range all {
		i := slices.IndexFunc(out, func(other field) bool { return strings.EqualFold(other.key, f.key) })
		switch {
		case i < 0:
			out = append(out, f)
		case out[i].depth == f.depth || out[i].key != f.key:
			return nil, fmt.Errorf("field %s: there is a second field %s; keys must differ in more than case", join(path, f.key), out[i].key)
		case f.depth < out[i].depth:
			out[i] = f
		}
	}
	return out, nil
}

func collect(t reflect.Type, path string, depth int, optional bool) ([]field, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("type %s: embeds itself", t)
	}
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Tag.Get("json") == "-" {
			continue
		}
		base := sf.Type
		if base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		if sf.Anonymous && name == "" && base.Kind() == reflect.Struct && !writesItself(base) {
			if !sf.IsExported() && sf.Type.Kind() == reflect.Pointer {
				return nil, fmt.Errorf("field %s: JSON cannot fill an embedded pointer to an unexported struct; embed the struct", join(path, sf.Name))
			}
			inner, err := collect(base, path, depth+1, optional || sf.Type.Kind() == reflect.Pointer)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		if !sf.IsExported() {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		flags := strings.Split(options, ",")
		if slices.Contains(flags, "string") {
			return nil, fmt.Errorf("field %s: the option string gives a number that is a text; use a number or a string", join(path, name))
		}
		out = append(out, field{
			key: name, typ: sf.Type, depth: depth, description: sf.Tag.Get("jsonschema"),
			optional: optional || sf.Type.Kind() == reflect.Pointer || slices.Contains(flags, "omitempty") || slices.Contains(flags, "omitzero"),
		})
	}
	return out, nil
}

// special answers for types that have a JSON form of their own.
func special(t reflect.Type, path string) (*jsonschema.Schema, bool, error) {
	p := reflect.PointerTo(t)
	switch {
	case t == timeType:
		return &jsonschema.Schema{Type: "string", Format: "date-time"}, true, nil
	case t == numberType:
		return &jsonschema.Schema{Type: "number"}, true, nil
	case p.Implements(jsonWriter) || p.Implements(jsonReader):
		return nil, false, fmt.Errorf("field %s: %s writes its own JSON, which no schema can be made of; use a struct or a plain type", path, t)
	case p.Implements(textWriter) && p.Implements(textReader):
		return &jsonschema.Schema{Type: "string"}, true, nil
	case p.Implements(textWriter) || p.Implements(textReader):
		return nil, false, fmt.Errorf("field %s: %s reads or writes text only one way; implement both encoding.TextMarshaler and encoding.TextUnmarshaler", path, t)
	}
	return nil, false, nil
}

// writesItself reports whether a type's JSON is not that of its fields.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == timeType || p.Implements(jsonWriter) || p.Implements(jsonReader) || p.Implements(textWriter) || p.Implements(textReader)
}

// scalar returns the schema of a plain value, with the bounds of its Go type:
// what the decoder would refuse, the model should know.
func scalar(t reflect.Type) (*jsonschema.Schema, bool) {
	bounded := func(lowest, highest float64) (*jsonschema.Schema, bool) {
		return &jsonschema.Schema{Type: "integer", Minimum: &lowest, Maximum: &highest}, true
	}
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}, true
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}, true
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}, true
	case reflect.Int, reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}, true
	case reflect.Uint, reflect.Uint64:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}, true
	case reflect.Int8:
		return bounded(math.MinInt8, math.MaxInt8)
	case reflect.Int16:
		return bounded(math.MinInt16, math.MaxInt16)
	case reflect.Int32:
		return bounded(math.MinInt32, math.MaxInt32)
	case reflect.Uint8:
		return bounded(0, math.MaxUint8)
	case reflect.Uint16:
		return bounded(0, math.MaxUint16)
	case reflect.Uint32:
		return bounded(0, math.MaxUint32)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &jsonschema.Schema{Type: "string", Description: "base64"}, true
		}
	}
	return nil, false
}
