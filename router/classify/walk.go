package classify

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// place says what part of a body is read. The same key means different things in
// an error object and in an answer: a "message" of an answer is what the model
// said, and must never reach the rules.
type place uint8

const (
	root      place = iota // the outermost object, an event, or an object that wraps one
	errorObj               // an error object
	detail                 // an element of details, errors, detail
	meta                   // metadata of an error
	headers                // headers of an upstream, inside a body
	reasons                // incomplete_details
	item                   // an output item of a Responses answer
	content                // a content part
	choice                 // a choice of a chat answer
	message                // the message of a choice
	call                   // a tool call of a choice
	candidate              // a candidate of a Gemini answer
	prompt                 // promptFeedback
	filters                // content filter results
	skip                   // the caller's own data, or nothing of interest
)

// doors say where the objects and lists under a key lead from a place. Whatever is
// not here leads to skip.
var doors = func() map[place]map[string]place {
	out := map[place]map[string]place{}
	door := func(to place, keys string, from ...place) {
		for _, f := range from {
			if out[f] == nil {
				out[f] = map[string]place{}
			}
			for _, key := range strings.Fields(keys) {
				out[f][key] = to
			}
		}
	}
	door(errorObj, "error message cause data body err fault innererror", root, errorObj, detail, meta)
	door(errorObj, "exception upstream_error errordetail result resource_exhausted base_resp", root)
	door(errorObj, "inner_error innerexception provider_specific_fields raw msg", errorObj, detail, meta)
	door(detail, "errors detail details violations error_details", root, errorObj, detail, meta)
	door(detail, "fieldviolations", errorObj, detail, meta)
	door(meta, "metadata rate_limit ratelimit rate_limits rate_limit_info retry_info", root, errorObj, detail, meta)
	door(headers, "headers response_headers responseheaders", root, errorObj, detail, meta)
	door(filters, "content_filter_result content_filter_results content_filters", root, errorObj, detail, meta, choice)
	door(root, "response", root)
	door(reasons, "incomplete_details", root)
	door(item, "output item", root)
	door(item, "output", item)
	door(content, "content", root, item, message)
	door(content, "output_text", item)
	door(choice, "choices", root)
	door(message, "message delta", choice)
	door(errorObj, "error", choice)
	door(call, "tool_calls function_call", message)
	door(call, "function", call)
	door(candidate, "candidates", root)
	door(candidate, "content parts", candidate)
	door(prompt, "promptfeedback", root)
	return out
}()

// maxDepth bounds how deep objects are read, maxLevel JSON inside strings.
const (
	maxDepth = 64
	maxLevel = 3
)

var errDeep = errors.New("nested too deep")

// walkJSON reads the first JSON value of b and reports whether it said anything.
// What cannot be read as JSON, because it was cut or is Python's, is text.
func (e *envelope) walkJSON(b []byte, level int) bool {
	w := walker{e: e, Decoder: json.NewDecoder(bytes.NewReader(b)), level: level}
	w.UseNumber()
	before := len(e.text)
	err := w.value(root, "", 0)
	if err != nil {
		if level == 0 {
			e.broken, e.cut = true, errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
		}
		if w.in != skip && !e.answerKeys() && !errors.Is(err, errDeep) {
			rest := string(b[w.InputOffset():])
			e.addPairs(rest)
			e.addMessage(strings.TrimLeft(rest, `:"', `), maxLevel)
		}
	}
	return len(e.text) > before
}

// walker walks one JSON text and hands every scalar to the envelope, with the
// place it was found in. It builds no tree.
type walker struct {
	*json.Decoder
	e     *envelope
	level int
	in    place // where it was last
}

// value reads one value. key is the name it was found under, in lower case.
func (w *walker) value(p place, key string, depth int) error {
	w.in = p
	token, err := w.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if depth == maxDepth {
			return errDeep
		}
		if v == '[' {
			return w.list(p, key, depth)
		}
		return w.object(p, key, depth)
	case string:
		w.e.onString(p, key, v, w.level)
	case json.Number:
		w.e.onNumber(p, key, v.String())
	case bool:
		w.e.onBool(p, key, v)
	default:
		w.e.nullError = w.e.nullError || p == root && key == "error"
		w.e.nullBody = w.e.nullBody || p == root && key == ""
	}
	return nil
}

func (w *walker) object(p place, key string, depth int) error {
	inner := w.e.enter(p, key)
	count := 0
	for ; w.More(); count++ {
		name, err := w.Token()
		if err != nil {
			return err
		}
		if err := w.value(inner, strings.ToLower(clip(name.(string), 64)), depth+1); err != nil {
			return err
		}
	}
	if inner == root && key == "" && count == 0 {
		w.e.emptyObject = true
	}
	w.in = inner
	_, err := w.Token()
	return err
}

func (w *walker) list(p place, key string, depth int) error {
	if p == root {
		w.e.outputKey = w.e.outputKey || key == "output"
		w.e.contentKey = w.e.contentKey || key == "content"
		w.e.choicesKey = w.e.choicesKey || key == "choices" || key == "candidates"
		w.e.hasError = w.e.hasError || key == "errors"
		w.e.emptyObject = w.e.emptyObject || key == "" && depth == 0 && !w.More()
	}
	for w.More() {
		if err := w.value(p, key, depth+1); err != nil {
			return err
		}
	}
	w.in = p
	_, err := w.Token()
	return err
}

// enter returns the place of an object found under key.
func (e *envelope) enter(p place, key string) place {
	switch {
	case p == filters, key == "" && (p == root || p == detail):
		return p
	case p == root && key == "response":
		e.inResponse = true
	case p == root && key == "usage":
		e.usage = true
	case p == candidate && key == "functioncall":
		e.sawCall = true
	case (p == root || p == choice) && (errorKeys[key] || key == "exception"):
		e.hasError = true
	}
	if to, ok := doors[p][key]; ok {
		return to
	}
	return skip
}
