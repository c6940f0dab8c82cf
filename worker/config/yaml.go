package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/onceward/onceward"
)

// decoder reads YAML nodes strictly and collects every mistake with its line.
// Names are taken from the nodes as they are written: a layer that lower-cases
// keys or splits them on dots would let gpt-5.6 break and Refund become refund.
type decoder struct {
	file     string
	mistakes []Mistake
	lines    map[string]int    // by key path
	origin   map[string]string // key path to the environment variable that set it
}

func newDecoder(file string) *decoder {
	return &decoder{file: file, lines: map[string]int{}, origin: map[string]string{}}
}

// refuse records a mistake about the value at a key path.
func (d *decoder) refuse(path, format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	if name, ok := d.origin[path]; ok {
		d.mistakes = append(d.mistakes, Mistake{File: "environment", Key: name, Reason: reason})
		return
	}
	line, at := 0, path
	for line == 0 && at != "" { // a key that is missing is reported where its section is
		line = d.lines[at]
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
	d.mistakes = append(d.mistakes, Mistake{File: d.file, Line: line, Key: path, Reason: reason})
}

// document parses the one YAML document of a file.
func (d *decoder) document(raw []byte) (*object, bool) {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			d.refuse("", "the file is empty")
		} else {
			d.refuse("", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		return nil, false
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		d.refuse("", "more than one YAML document; keep one")
	}
	return d.object("", doc.Content[0])
}

// object is a mapping whose keys are ticked off as they are read.
type object struct {
	d     *decoder
	path  string
	keys  []string
	nodes map[string]*yaml.Node
	known []string
}

func (d *decoder) object(path string, node *yaml.Node) (*object, bool) {
	node = resolveAlias(node)
	if node.Kind != yaml.MappingNode {
		d.refuse(path, "want keys and values, not %s", nodeWord(node))
		return nil, false
	}
	o := &object{d: d, path: path, nodes: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		at := o.at(key.Value)
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			d.mistakes = append(d.mistakes, Mistake{File: d.file, Line: key.Line, Key: path, Reason: "keys are plain names; merge keys are not supported"})
		case o.nodes[key.Value] != nil:
			d.mistakes = append(d.mistakes, Mistake{File: d.file, Line: key.Line, Key: at, Reason: fmt.Sprintf("given twice, first on line %d; keep one", d.lines[at])})
		default:
			o.keys = append(o.keys, key.Value)
			o.nodes[key.Value] = resolveAlias(node.Content[i+1])
			d.lines[at] = key.Line
		}
	}
	return o, true
}

func (o *object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// get returns the value of a key, or nil. A key with nothing after it is unset.
func (o *object) get(key string) *yaml.Node {
	o.known = append(o.known, key)
	node := o.nodes[key]
	if node == nil || node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil
	}
	return node
}

// scalar returns the text of a scalar whose YAML tag is one of tags.
func (o *object) scalar(key, want string, tags ...string) (string, bool) {
	node := o.get(key)
	if node == nil {
		return "", false
	}
	if node.Kind != yaml.ScalarNode || !slices.Contains(tags, node.Tag) {
		o.d.refuse(o.at(key), "want %s, not %s", want, nodeWord(node))
		return "", false
	}
	return node.Value, true
}

func (o *object) str(key string, dst *string) {
	if s, ok := o.scalar(key, "a text", "!!str", "!!int", "!!float", "!!timestamp"); ok {
		*dst = s
	}
}

func (o *object) flag(key string, dst *bool) {
	if s, ok := o.scalar(key, "true or false", "!!bool"); ok {
		*dst = strings.EqualFold(s, "true")
	}
}

func (o *object) integer(key string, dst *int) {
	s, ok := o.scalar(key, "a whole number", "!!int")
	if !ok {
		return
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 64)
	if err != nil || n > math.MaxInt32*1024 || n < math.MinInt32 {
		o.d.refuse(o.at(key), "%s is out of range", s)
		return
	}
	*dst = int(n)
}

func (o *object) number(key string, dst *float64) bool {
	s, ok := o.scalar(key, "a number", "!!int", "!!float")
	if !ok {
		return false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		o.d.refuse(o.at(key), "%s is not a number", s)
		return false
	}
	*dst = f
	return true
}

// money reads US dollars. It reports whether the key is there.
func (o *object) money(key string, dst *onceward.MicroUSD) bool {
	var usd float64
	if !o.number(key, &usd) {
		return o.get(key) != nil
	}
	if usd < 0 || usd > 1e6 {
		o.d.refuse(o.at(key), "%v is not an amount in US dollars between 0 and 1000000", usd)
		return true
	}
	*dst = onceward.FromUSD(usd)
	return true
}

func (o *object) duration(key string, dst *time.Duration) {
	s, ok := o.scalar(key, "a duration such as 30s", "!!str", "!!int", "!!float")
	if !ok {
		return
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		o.d.refuse(o.at(key), "%q is not a duration; write a number and a unit, such as 30s, 10m or 72h", s)
		return
	}
	*dst = v
}

// list reads a list of texts.
func (o *object) list(key string, dst *[]string) {
	node := o.get(key)
	if node == nil {
		return
	}
	if node.Kind != yaml.SequenceNode {
		o.d.refuse(o.at(key), "want a list such as [a, b], not %s", nodeWord(node))
		return
	}
	var out []string
	for _, item := range node.Content {
		if item = resolveAlias(item); item.Kind != yaml.ScalarNode || item.Tag == "!!null" || item.Value == "" {
			o.d.refuse(o.at(key), "want a list of texts, and one of them is %s", nodeWord(item))
			return
		}
		if slices.Contains(out, item.Value) {
			o.d.refuse(o.at(key), "names %s twice", item.Value)
			return
		}
		out = append(out, item.Value)
	}
	*dst = out
}

// child returns the mapping under a key.
func (o *object) child(key string) (*object, bool) {
	node := o.get(key)
	if node == nil {
		return nil, false
	}
	return o.d.object(o.at(key), node)
}

// each calls fn for every mapping of a list; its path names the entry by what
// naming holds, or by its index.
func (o *object) each(key, naming string, fn func(*object)) {
	node := o.get(key)
	if node == nil {
		return
	}
	if node.Kind != yaml.SequenceNode {
		o.d.refuse(o.at(key), "want a list of entries that begin with -, not %s", nodeWord(node))
		return
	}
	for i, item := range node.Content {
		item = resolveAlias(item)
		path := fmt.Sprintf("%s[%d]", o.at(key), i)
		if name := valueOf(item, naming); name != "" {
			path = fmt.Sprintf("%s[%s]", o.at(key), name)
		}
		if o.d.lines[path] != 0 { // a second entry of that name; the check refuses it under this path
			path = fmt.Sprintf("%s[%d]", o.at(key), i)
		}
		o.d.lines[path] = item.Line
		if entry, ok := o.d.object(path, item); ok {
			fn(entry)
		}
	}
}

// end refuses the keys that nobody asked for.
func (o *object) end() {
	for _, key := range o.keys {
		if !slices.Contains(o.known, key) {
			o.d.refuse(o.at(key), "unknown key%s", didYouMean(key, o.known))
		}
	}
}

func valueOf(node *yaml.Node, key string) string {
	if node.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key && node.Content[i+1].Kind == yaml.ScalarNode {
			return node.Content[i+1].Value
		}
	}
	return ""
}

func resolveAlias(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func nodeWord(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.DocumentNode, yaml.AliasNode, yaml.ScalarNode:
	}
	if node.Tag == "!!null" || node.Value == "" {
		return "nothing"
	}
	return strconv.Quote(node.Value)
}
