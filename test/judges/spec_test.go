package judges

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"gopkg.in/yaml.v3"
)

// spec is a published API document, as far as it is about POST /responses.
type spec struct {
	name     string
	request  *jsonschema.Schema
	response *jsonschema.Schema
	events   map[string]*jsonschema.Schema // by type
}

// The documents, by their names in the folder of cases.
const (
	openAI        = "openai.yaml"
	openResponses = "openresponses.json"
)

// reading one takes a second, and several tests want both.
var loaded struct {
	sync.Mutex
	specs map[string]*spec
}

func loadSpec(t *testing.T, name string) *spec {
	t.Helper()
	file := cases(t, "spec", name)
	loaded.Lock()
	defer loaded.Unlock()
	if s := loaded.specs[name]; s != nil {
		return s
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := readSpec(name, data)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	if len(s.events) < 20 {
		t.Fatalf("%s names %d events: it was not understood", name, len(s.events))
	}
	if loaded.specs == nil {
		loaded.specs = map[string]*spec{}
	}
	loaded.specs[name] = s
	return s
}

// readSpec finds the operation in the document and compiles its schemas once:
// a schema that was compiled for each value would take minutes.
func readSpec(name string, data []byte) (*spec, error) {
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := yaml.Unmarshal(data, &plain); err != nil { // JSON is YAML as well
		return nil, err
	}
	asJSON, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return nil, err
	}
	withoutRecursion(root)
	const base = "mem:///document.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(base, root); err != nil {
		return nil, err
	}
	post := doc.Paths.Find("/responses").Post
	answers := post.Responses.Status(200).Value.Content
	s := &spec{name: name, events: map[string]*jsonschema.Schema{}}
	if s.request, err = compiler.Compile(base + post.RequestBody.Value.Content.Get("application/json").Schema.Ref); err != nil {
		return nil, err
	}
	if s.response, err = compiler.Compile(base + answers.Get("application/json").Schema.Ref); err != nil {
		return nil, err
	}
	union := answers.Get("text/event-stream").Schema.Value
	for _, member := range slices.Concat(union.OneOf, union.AnyOf) {
		compiled, err := compiler.Compile(base + member.Ref)
		if err != nil {
			return nil, err
		}
		typ := member.Value.Properties["type"].Value
		for _, v := range append(typ.Enum, typ.Const) {
			if name, ok := v.(string); ok {
				s.events[name] = compiled
			}
		}
	}
	return s, nil
}

// withoutRecursion takes out keywords of an older draft, with which one filter of
// hosted tools refers to itself: this draft refuses the whole document for them.
func withoutRecursion(node any) {
	switch v := node.(type) {
	case map[string]any:
		delete(v, "$recursiveAnchor")
		delete(v, "$recursiveRef")
		for _, child := range v {
			withoutRecursion(child)
		}
	case []any:
		for _, child := range v {
			withoutRecursion(child)
		}
	}
}

// check returns what a document has against a JSON value, one line for each
// complaint: where it is about, and why. Indexes are written as *.
func check(schema *jsonschema.Schema, raw []byte) []string {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return []string{"/: not JSON: " + err.Error()}
	}
	err = schema.Validate(value)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &invalid):
		return []string{"/: " + err.Error()}
	}
	var lines []string
	for _, c := range complaints(invalid) {
		lines = append(lines, c.line())
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

type complaint struct{ *jsonschema.ValidationError }

// complaints returns the innermost errors. Of a union's members only that may
// complain which the value claims to be: the others would hide what is wrong.
func complaints(e *jsonschema.ValidationError) []complaint {
	if len(e.Causes) == 0 {
		return []complaint{{e}}
	}
	_, anyOf := e.ErrorKind.(*kind.AnyOf)
	_, oneOf := e.ErrorKind.(*kind.OneOf)
	if !anyOf && !oneOf {
		var all []complaint
		for _, cause := range e.Causes {
			all = append(all, complaints(cause)...)
		}
		return all
	}
	var best []complaint
	for _, member := range e.Causes {
		inner := complaints(member)
		another := slices.ContainsFunc(inner, func(c complaint) bool { return c.denies(e.InstanceLocation) })
		if !another && (best == nil || len(inner) < len(best)) {
			best = inner
		}
	}
	if best == nil {
		return []complaint{{e}}
	}
	return best
}

// denies reports that the value at a place is not of this kind at all.
func (c complaint) denies(at []string) bool {
	switch c.ErrorKind.(type) {
	case *kind.Type:
		return slices.Equal(c.InstanceLocation, at)
	case *kind.Enum, *kind.Const:
		return slices.Equal(c.InstanceLocation, append(slices.Clone(at), "type")) ||
			slices.Equal(c.InstanceLocation, append(slices.Clone(at), "role"))
	case *kind.AnyOf, *kind.OneOf:
		return slices.Equal(c.InstanceLocation, append(slices.Clone(at), "type"))
	}
	return false
}

func (c complaint) line() string {
	path := slices.Clone(c.InstanceLocation)
	for i, key := range path {
		if strings.Trim(key, "0123456789") == "" {
			path[i] = "*"
		}
	}
	reason, _, _ := strings.Cut(c.Error(), "\n")
	if _, after, ok := strings.Cut(reason, "': "); ok {
		reason = after
	}
	return "/" + strings.Join(path, "/") + ": " + reason
}
