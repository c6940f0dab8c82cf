package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/redact"
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
			line, reason := yamlReason(err, raw)
			d.mistakes = append(d.mistakes, Mistake{File: d.file, Line: line, Reason: reason})
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
	d       *decoder
	path    string
	keys    []string
	nodes   map[string]*yaml.Node
	known   []string
	columns map[string]int // of keys
	twice   []*yaml.Node   // keys that were given before
	named   bool           // the keys are names of the user's
}

func (d *decoder) object(path string, node *yaml.Node) (*object, bool) {
	return d.mapping(path, node, false)
}

func (d *decoder) mapping(path string, node *yaml.Node, named bool) (*object, bool) {
	node = resolveAlias(node)
	if node.Kind != yaml.MappingNode {
		d.refuse(path, "want keys and values, not %s", nodeWord(node))
		return nil, false
	}
	o := &object{d: d, path: path, nodes: map[string]*yaml.Node{}, columns: map[string]int{}, named: named}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			d.mistakes = append(d.mistakes, Mistake{File: d.file, Line: key.Line, Key: path, Reason: "keys are plain names; merge keys are not supported"})
		case o.nodes[key.Value] != nil:
			o.twice = append(o.twice, key)
		default:
			o.keys = append(o.keys, key.Value)
			o.nodes[key.Value] = resolveAlias(node.Content[i+1])
			o.columns[key.Value] = key.Column
			d.lines[o.at(key.Value)] = key.Line
		}
	}
	if named {
		o.refuseTwice(o.keys)
	}
	return o, true
}

// refuseTwice reports keys that were given twice, of those that can be named.
// Another is reported as unknown.
func (o *object) refuseTwice(known []string) {
	for _, key := range o.twice {
		if at := o.at(key.Value); slices.Contains(known, key.Value) {
			o.d.mistakes = append(o.d.mistakes, Mistake{File: o.d.file, Line: key.Line, Key: at, Reason: fmt.Sprintf("given twice, first on line %d; keep one", o.d.lines[at])})
		}
	}
}

func (o *object) at(key string) string {
	if o.named {
		name := key
		if node := o.nodes[key]; node == nil || node.Kind != yaml.MappingNode {
			name = "" // no section of that name, but perhaps a key that was pasted here
		}
		return namePath(o.path, name, slices.Index(o.keys, key))
	}
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
		o.d.refuse(o.at(key), "is out of range")
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
		o.d.refuse(o.at(key), "is not a number")
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
		o.d.refuse(o.at(key), "is not an amount in US dollars between 0 and 1000000")
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
		o.d.refuse(o.at(key), "is not a duration; write a number and a unit, such as 30s, 10m or 72h")
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
	for i, item := range node.Content {
		if item = resolveAlias(item); item.Kind != yaml.ScalarNode || item.Tag == "!!null" || item.Value == "" {
			o.d.refuse(o.at(key), "want a list of texts, and one of them is %s", nodeWord(item))
			return
		}
		if slices.Contains(out, item.Value) {
			o.d.refuse(o.at(key), "repeats itself in entry %d", i+1)
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

// names returns the mapping under a key whose own keys are names.
func (o *object) names(key string) (*object, bool) {
	node := o.get(key)
	if node == nil {
		return nil, false
	}
	return o.d.mapping(o.at(key), node, true)
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
		if name := valueOf(item, naming); sayable(name) {
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

// end refuses the keys that nobody asked for. It does not name them: a key that
// is pasted to the left of the colon is one of them.
func (o *object) end() {
	o.refuseTwice(o.known)
	for _, key := range o.keys {
		if slices.Contains(o.known, key) {
			continue
		}
		column := o.columns[key]
		o.d.mistakes = append(o.d.mistakes, Mistake{
			File: o.d.file, Line: o.d.lines[o.at(key)], Key: o.path, column: column,
			Reason: fmt.Sprintf("unknown key in column %d%s", column, o.instead(key)),
		})
	}
}

// instead says what to write for an unknown key.
func (o *object) instead(key string) string {
	for _, own := range []string{"api_key", "value"} {
		if !slices.Contains(o.known, own+"_env") {
			continue
		}
		switch word := strings.ToLower(key); {
		case redact.CredentialName(word), word == "authorization", word == "bearer", word == "credentials":
			return fmt.Sprintf("; a credential does not belong in the file: name an environment variable in %s_env, or a file in %s_file", own, own)
		}
	}
	return didYouMean(key, o.known)
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
	switch {
	case node.Tag == "!!null" || node.Value == "":
		return "nothing"
	case node.Tag == "!!int" || node.Tag == "!!float":
		return "a number"
	case node.Tag == "!!bool":
		return "true or false"
	case node.Tag == "!!timestamp":
		return "a date"
	}
	return "a text"
}

// yamlErrors are the library's words that repeat nothing of the file.
var yamlErrors = []string{
	"did not find expected", "could not find expected", "found character that cannot start any token", "found a tab character",
	"found unexpected end of stream", "found unexpected document indicator", "mapping values are not allowed in this context",
	"block sequence entries are not allowed in this context", "mapping keys are not allowed in this context",
	"block collection entries", "found unknown escape character", "found incorrectly indented", "control characters are not allowed",
	"invalid leading UTF-8 octet", "incomplete UTF-8 octet sequence", "invalid trailing UTF-8 octet",
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// yamlReason says what the parser found and where, in words of a closed list:
// its own quote names of the file.
func yamlReason(err error, raw []byte) (line int, reason string) {
	text := err.Error()
	found := yamlLine.FindStringSubmatch(text)
	if found == nil {
		return 0, "is not YAML"
	}
	line, _ = strconv.Atoi(found[1]) // empty: it has none
	text = text[len(found[0]):]
	switch {
	case strings.HasPrefix(text, "unknown anchor"):
		if name := strings.Split(text, "'"); line == 0 && len(name) == 3 {
			alias := regexp.MustCompile(`(^|[\s,:\[{])\*` + regexp.QuoteMeta(name[1]) + `([\s,\]}]|$)`)
			if at := alias.FindSubmatchIndex(raw); at != nil {
				line = 1 + bytes.Count(raw[:at[3]], []byte("\n"))
			}
		}
		return line, "is not YAML: an alias, which begins with *, has no anchor of its name"
	case slices.ContainsFunc(yamlErrors, func(words string) bool { return strings.HasPrefix(text, words) }):
		return line, "is not YAML: " + text
	}
	return line, "is not YAML"
}
