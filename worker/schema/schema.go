package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/onceward/onceward"
)

// Bounds of a schema that resources enforce in strict mode. One that breaks
// them is refused by every resource with every request, so it is refused here.
const (
	maxSchemaDepth = 10
	maxSchemaKeys  = 5000
)

const emptyMark = "no properties"

// Schema is the strict JSON schema of a Go type: every key required, optional
// ones nullable, no other keys. It is immutable and safe for concurrent use.
type Schema struct {
	JSON  json.RawMessage // compact, the same on every build
	check *jsonschema.Resolved
}

// New makes the schema of a struct type. forWrite refuses fields that pose
// as the idempotency key: the model would make a new one for the same effect.
func New(t reflect.Type, forWrite bool) (*Schema, error) {
	if t == nil || t.Kind() != reflect.Struct || t == timeType {
		return nil, fmt.Errorf("%v is not a struct; wrap it in one, so that every value has a name", t)
	}
	shown, err := buildSchema(t, forWrite, true)
	if err != nil {
		return nil, err
	}
	encoded, err := shown.encode()
	if err != nil {
		return nil, fmt.Errorf("encode schema of %s: %w", t, err)
	}
	// A resource without strict mode may leave an optional key out, and Go reads
	// that as it reads null: only what is shown to the model requires all keys.
	lenient, err := buildSchema(t, forWrite, false)
	if err != nil {
		return nil, err
	}
	check, err := lenient.root.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve schema of %s: %w", t, err)
	}
	return &Schema{JSON: encoded, check: check}, nil
}

// Validate checks JSON from a model. Its error is written for the model: one
// line for each thing to correct, with the key. Blank means {}.
func (s *Schema) Validate(raw json.RawMessage) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	err := s.check.Validate(value)
	if err == nil {
		return nil
	}
	e := explainer{root: s.check.Schema()}
	e.explain("", s.check.Schema(), value)
	if len(e.found) == 0 {
		return fmt.Errorf("the value does not match the schema: %w", err)
	}
	return fmt.Errorf("%s", strings.Join(e.found, "\n"))
}

// ValidateAnswer checks a final answer. Blank is no answer, and one of two equal
// keys would be chosen silently by who reads it.
func (s *Schema) ValidateAnswer(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it is empty")
	}
	if err := s.Validate(json.RawMessage(text)); err != nil {
		return err
	}
	return onceward.CheckKeys([]byte(text))
}

// built is a schema under construction.
type built struct {
	root     *jsonschema.Schema
	strict   bool
	forWrite bool
	names    map[reflect.Type]string // of recursive types
	top      reflect.Type
	keys     int
}

func buildSchema(t reflect.Type, forWrite, strict bool) (*built, error) {
	b := &built{strict: strict, forWrite: forWrite, names: map[reflect.Type]string{}, top: t}
	b.findRecursion(t, nil)
	root, err := b.object(t, "", 1)
	if err != nil {
		return nil, err
	}
	b.root = root
	defs := map[string]*jsonschema.Schema{}
	for recursive, name := range b.names {
		if recursive == t {
			continue // its references point at the root
		}
		if defs[name], err = b.object(recursive, name, 1); err != nil {
			return nil, err
		}
	}
	if len(defs) > 0 {
		root.Defs = defs
	}
	if b.keys > maxSchemaKeys {
		return nil, fmt.Errorf("%s has %d keys, and resources accept %d", t, b.keys, maxSchemaKeys)
	}
	return b, nil
}

// encode writes the schema compactly. Keys of properties keep the order of the
// struct's fields; an object without fields still says so.
func (b *built) encode() (json.RawMessage, error) {
	raw, err := json.Marshal(b.root)
	if err != nil {
		return nil, err
	}
	// The library leaves empty properties out, and strict mode wants them. The
	// mark cannot occur in a description: its quotes would be escaped there.
	raw = bytes.ReplaceAll(raw, []byte(`"$comment":"`+emptyMark+`"`), []byte(`"properties":{},"required":[]`))
	return onceward.Canonical(raw)
}

// findRecursion names every struct type that contains itself.
func (b *built) findRecursion(t reflect.Type, open []reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || writesItself(t) {
		return
	}
	if slices.Contains(open, t) {
		if b.names[t] == "" {
			b.names[t] = b.freeName(t)
		}
		return
	}
	if len(open) > maxSchemaDepth*4 {
		return // the walk for the schema refuses the depth by field
	}
	open = append(slices.Clone(open), t)
	for i := range t.NumField() {
		if field := t.Field(i); field.IsExported() || field.Anonymous {
			b.findRecursion(field.Type, open)
		}
	}
}

func (b *built) freeName(t reflect.Type) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, cmp.Or(t.Name(), "object"))
	name := clean
	for n := 2; ; n++ {
		taken := false
		for _, other := range b.names {
			taken = taken || other == name
		}
		if !taken {
			return name
		}
		name = fmt.Sprintf("%s_%d", clean, n)
	}
}

func (b *built) object(t reflect.Type, path string, depth int) (*jsonschema.Schema, error) {
	if depth > maxSchemaDepth {
		return nil, tooDeep(path)
	}
	fields, err := fieldsOf(t, path)
	if err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{
		Type:                 "object",
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, // encodes as false
		Properties:           map[string]*jsonschema.Schema{},
		Required:             []string{},
	}
	for _, field := range fields {
		if b.forWrite && posesAsKey(field.key) {
			return nil, fmt.Errorf("field %s: the model must not choose the key of an effect; leave the field out, Action.Key is made from the action id", join(path, field.key))
		}
		property, err := b.value(field.typ, join(path, field.key), depth+1)
		if err != nil {
			return nil, err
		}
		if field.optional {
			property = nullable(property)
		}
		property = describe(property, field.description)
		s.Properties[field.key] = property
		s.PropertyOrder = append(s.PropertyOrder, field.key)
		if b.strict || !field.optional {
			s.Required = append(s.Required, field.key)
		}
	}
	b.keys += len(fields)
	if len(fields) == 0 {
		s.Comment = emptyMark
	}
	return s, nil
}

func (b *built) value(t reflect.Type, path string, depth int) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Pointer {
		s, err := b.value(t.Elem(), path, depth)
		if err != nil {
			return nil, err
		}
		return nullable(s), nil
	}
	if s, done, err := special(t, path); done || err != nil {
		return s, err
	}
	if s, done := scalar(t); done {
		return s, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		if name, recursive := b.names[t]; recursive {
			if t == b.top {
				return &jsonschema.Schema{Ref: "#"}, nil
			}
			return &jsonschema.Schema{Ref: "#/$defs/" + name}, nil
		}
		return b.object(t, path, depth)
	case reflect.Slice, reflect.Array:
		if depth > maxSchemaDepth {
			return nil, tooDeep(path)
		}
		items, err := b.value(t.Elem(), path+"[]", depth+1)
		if err != nil {
			return nil, err
		}
		s := &jsonschema.Schema{Type: "array", Items: items}
		if t.Kind() == reflect.Array {
			s.MinItems, s.MaxItems = jsonschema.Ptr(t.Len()), jsonschema.Ptr(t.Len())
		}
		return s, nil
	case reflect.Map:
		return nil, fmt.Errorf("field %s: a map has no strict schema; use a list of structs with the fields name and value", path)
	case reflect.Interface:
		return nil, fmt.Errorf("field %s: %s says nothing to the model; use a concrete type", path, t)
	}
	return nil, fmt.Errorf("field %s: %s has no JSON form; take it out, or tag it json:\"-\"", path, t)
}

func tooDeep(path string) error {
	return fmt.Errorf("field %s: nested deeper than %d levels, which resources refuse; flatten it", path, maxSchemaDepth)
}

// nullable returns a schema that also allows null.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Ref != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	case s.Type != "":
		s.Types, s.Type = []string{s.Type, "null"}, ""
	}
	return s
}

// describe adds a description. Beside a reference it would be ignored or
// refused, so there it goes around it.
func describe(s *jsonschema.Schema, text string) *jsonschema.Schema {
	if text == "" {
		return s
	}
	if s.Ref != "" {
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s}}
	}
	s.Description = text
	return s
}

// posesAsKey reports whether a key, in any case and with any separators, is one
// that a product or Onceward would take as the idempotency key.
func posesAsKey(key string) bool {
	bare := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(key))
	return bare == "idempotencykey" || bare == "xidempotencykey" || bare == "actionid"
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
