package onceward

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// MaxArguments bounds the arguments of one tool call in bytes.
const MaxArguments = 256 << 10

// incidentalTag marks a field of a write tool's input that does not make it
// another effect, such as free text: `onceward:"incidental"`.
const incidentalTag = "incidental"

// bindArgs decodes the model's arguments into a value of type t. Blank means
// {}. Duplicate, case-variant and unknown keys and trailing data are refused.
func bindArgs(t reflect.Type, raw []byte) (reflect.Value, error) {
	if len(raw) > MaxArguments {
		return reflect.Value{}, fmt.Errorf("arguments have %d bytes, at most %d", len(raw), MaxArguments)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	raw, err := Canonical(raw)
	if err != nil {
		return reflect.Value{}, err
	}
	if err := CheckKeys(raw); err != nil {
		return reflect.Value{}, err
	}
	v := reflect.New(t)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v.Interface()); err != nil {
		return reflect.Value{}, fmt.Errorf("decode arguments: %w", err)
	}
	if n, ok := v.Interface().(Normalizer); ok {
		n.Normalize()
	}
	return v.Elem(), nil
}

// Normalizer is implemented (by pointer) by an input type that fills defaults
// or brings equal values to one form, such as upper-casing a currency. It runs
// once, before action id, digest and tool see the value.
type Normalizer interface{ Normalize() }

// materialDigest hashes the tool's name, the tenant and the material fields of v:
// every exported field that is not tagged incidental, at any depth. Without a tenant
// bare is empty; with one it is the digest as if there were none.
func materialDigest(tool, tenant string, v reflect.Value) (digest, bare string, err error) {
	var b bytes.Buffer
	b.WriteString(tool)
	b.WriteByte('\n')
	if err := writeMaterial(&b, v); err != nil {
		return "", "", err
	}
	digest = DigestBytes(b.Bytes())
	if tenant == "" {
		return digest, "", nil
	}
	b.WriteString("\ntenant:") // no material ends like this: it is one JSON value
	b.WriteString(tenant)
	return DigestBytes(b.Bytes()), digest, nil
}

func writeMaterial(b *bytes.Buffer, v reflect.Value) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			b.WriteString("null")
			return nil
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Struct && !ownEncoding(v.Type()):
		b.WriteByte('{')
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() && !field.Anonymous || name == "-" || field.Tag.Get("onceward") == incidentalTag {
				continue
			}
			if name == "" {
				name = field.Name
			}
			fmt.Fprintf(b, "%q:", name)
			if err := writeMaterial(b, v.Field(i)); err != nil {
				return err
			}
			b.WriteByte(',')
		}
		b.WriteByte('}')
		return nil
	case (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Type().Elem().Kind() != reflect.Uint8:
		b.WriteByte('[')
		for i := range v.Len() {
			if err := writeMaterial(b, v.Index(i)); err != nil {
				return err
			}
			b.WriteByte(',')
		}
		b.WriteByte(']')
		return nil
	}
	leaf, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Errorf("digest arguments: %w", err)
	}
	b.Write(leaf)
	return nil
}

// ownEncoding reports whether a struct writes itself, as time.Time does.
func ownEncoding(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() ||
		t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
