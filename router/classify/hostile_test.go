package classify

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// requestFaults are refusals that repeat a word of the caller's.
var requestFaults = []string{
	"tool call validation failed: attempted to call tool '%s' which was not in request.tools",
	"tool call validation failed: parameters for tool set_status did not match schema: errors: [`/status`: value must be one of \"open\", \"%s\"]",
	"Generated JSON does not match the expected schema. Error: jsonschema: '/status' does not validate: value must be \"%s\"",
	"Duplicate function declaration found: %s",
	"* GenerateContentRequest.tools[0].function_declarations[0].name: Duplicate function declaration found: %s",
	"Tool choice '%s' not found in 'tools' parameter.",
	"Tool names must be unique. Duplicate: %s",
	"The following tools cannot be used with reasoning.effort 'minimal': %s.",
	"'%s' is not one of ['system', 'assistant', 'user', 'function'] - 'messages.0.role'",
	"'%s' does not match '^[a-zA-Z0-9_-]{1,64}$' - 'tools.0.function.name'",
	"'%s' is not of type 'object' - 'tools.0.function.parameters.properties.status'",
	"Failed to deserialize the JSON body into the target type: messages[1].role: unknown variant `%s`, expected one of `system`, `user` at line 1 column 60",
	"Failed to deserialize the JSON body into the target type: unknown field `%s`, expected one of `model`, `input` at line 1 column 9",
	"Invalid file data: '%s.xlsx'. Expected a file with an application/pdf MIME type, but got unsupported MIME type 'x'.",
	"Unknown prompt variables: %s",
	"Invalid schema for function '%s': In context=(), 'required' is required to be supplied.",
	"Invalid value: '%s'. Supported values are: 'open' and 'closed'.",
	"Missing required parameter: 'tools[0].%s'.",
	"tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$' got '%s'",
	"The value at messages.0.content.0.toolResult is invalid: %s",
	"Failed to parse tool call: %s",
	"Failed to parse tool call arguments as JSON: parse error at line 1, column 9: syntax error while parsing value - invalid literal; last read: '%s'",
	"Could not find tool '%s'",
	"Schema error in tool '%s': bad",
	"The tool output for call_1 has an unknown name: %s",
	"messages[1].role: %s is no role",
	"Value is not callable: null at row 3, column 5: %s",
	"messages: tool '%s' was not found in tools",
	"Invalid type for 'metadata.note': expected an object, but got '%s' instead.",
}

// faultOnly are those that hold against a 500, too.
func faultOnly(form string) bool {
	lower := strings.ReplaceAll(strings.ToLower(form), "\"", "'")
	for _, p := range append(said("names"), "parse tool call", "tool call validation failed") {
		if strings.Contains(lower, p) {
			return true
		}
	}
	return false
}

// callerWords are the phrases and codes that touch health, each with the names of
// tools, fields and files that a caller may make of it.
func callerWords() map[string][]string {
	words := map[string][]string{}
	for i := range table().rules {
		r := table().rules[i]
		under := wordings()[r.words]
		if r.failure().StateEffect == onceward.EffectNone || under == nil {
			continue
		}
		for _, w := range slices.Concat(under.lists["says"], under.lists["code"]) {
			parts := strings.FieldsFunc(w, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
			camel := ""
			for _, p := range parts {
				first, size := utf8.DecodeRuneInString(p)
				camel += string(unicode.ToUpper(first)) + p[size:]
			}
			snake := strings.Join(parts, "_")
			words[strings.Trim(w, " ")] = []string{"list_" + snake + "_items", strings.Join(parts, "-") + "-report", "get" + camel + "List", snake, strings.ToLower(camel[:1]) + camel[1:] + "Items"}
		}
	}
	return words
}

// refusalsOf returns a refused request's answers with the message.
func refusalsOf(t *testing.T, form, message string) []Input {
	t.Helper()
	body := errorBody(t, "", message)
	event, err := json.Marshal(map[string]any{"type": "response.failed", "response": map[string]any{"status": "failed",
		"error": map[string]any{"code": "invalid_request_error", "message": message}}})
	if err != nil {
		t.Fatal(err)
	}
	in := []Input{{Status: http.StatusBadRequest, Body: body}, {Status: http.StatusUnprocessableEntity, Body: body}, {Transport: SSE, Status: http.StatusOK, Body: event}}
	if faultOnly(form) {
		in = append(in, Input{Status: http.StatusInternalServerError, Body: body})
	}
	return in
}

// hostile calls found with every refusal that repeats a word which touches health, or
// a name that holds one, or a whole error of somebody else's.
func hostile(t *testing.T, found func(in Input, text string)) {
	words := callerWords()
	tried := 0
	for _, word := range slices.Sorted(maps.Keys(words)) {
		names := words[word]
		for _, form := range requestFaults {
			for _, in := range refusalsOf(t, form, fmt.Sprintf(form, word)) {
				found(in, form+" with "+word)
			}
			name := names[tried%len(names)] // each in turn: all of them take a minute
			answers := refusalsOf(t, form, fmt.Sprintf(form, name))
			found(answers[tried%len(answers)], form+" with "+name)
			tried++
		}
	}
	for _, l := range append(readCases(t, "testdata/errors.jsonl"), readCases(t, "testdata/more.jsonl")...) {
		if l.Effect == onceward.EffectNone || len(l.Body) > 2000 {
			continue
		}
		for _, form := range quotingFaults {
			found(Input{Status: http.StatusBadRequest, Body: errorBody(t, "", fmt.Sprintf(form, l.Body))}, form+" quoting "+l.ID)
		}
	}
}

// quotingFaults quote a value of the caller's.
var quotingFaults = []string{
	"Invalid value: '%s'. Supported values are: 'open', 'closed'.",
	"Invalid type for 'metadata.note': expected an object, but got '%s' instead.",
	"Invalid value: \"%s\".",
	"Input should be a valid string [type=string_type, input_value={'q': '%s'}, input_type=dict]",
}

var writeHostile = flag.Bool("hostile", false, "rewrite testdata/hostile.jsonl")

// testdata/hostile.jsonl is a sample of these answers, for tests that send them: every
// form of refusal is there, with what still gets an effect and what does not.
func TestHostileRecordsAreRefusals(t *testing.T) {
	const path = "testdata/hostile.jsonl"
	if *writeHostile {
		if err := os.WriteFile(path, sampleHostile(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	records := readCases(t, path)
	for _, r := range records {
		if r.Status == nil || *r.Status < 400 || r.Body == "" {
			t.Errorf("%s is no refusal", r.ID)
		}
	}
	if len(records) < 200 {
		t.Errorf("only %d records", len(records))
	}
}

func sampleHostile(t *testing.T) []byte {
	var out bytes.Buffer
	tried, perForm := 0, map[string]int{}
	hostile(t, func(in Input, text string) {
		tried++
		form, _, _ := strings.Cut(text, " with ")
		form, _, _ = strings.Cut(form, " quoting ")
		key := fmt.Sprint(in.Status, form, Classify(in).StateEffect != onceward.EffectNone)
		if in.Status < 400 || perForm[key] > 0 && (tried%499 != 0 || perForm[key] >= 8) {
			return
		}
		perForm[key]++
		line, err := json.Marshal(map[string]any{"id": fmt.Sprintf("hostile-%d", tried), "transport": HTTP, "status": in.Status, "body": string(in.Body)})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	})
	return out.Bytes()
}

// kept is how many of a thousand hostile refusals may still get a class with an
// effect. It only raises a suspicion: a neutral request acquits.
const kept = 25

func TestFewHostileRefusalsGetAClassWithAnEffect(t *testing.T) {
	tried, marked := 0, 0
	byForm := map[string]int{}
	hostile(t, func(in Input, text string) {
		tried++
		if f := Classify(in); f.StateEffect != onceward.EffectNone {
			marked++
			byForm[fmt.Sprintf("%d %s", in.Status, text[:min(len(text), 60)])]++
		}
	})
	if tried < 50_000 || marked*1000 > kept*tried {
		t.Errorf("%d of %d hostile refusals get a class with an effect: %v", marked, tried, byForm)
	}
	t.Logf("%d of %d hostile refusals get a class with an effect", marked, tried)
}

// A name that holds a word is no statement in any message.
func TestWordInsideANameIsNoStatement(t *testing.T) {
	for message, want := range map[string]onceward.StateEffect{
		"The file overdue-invoices.xlsx has an unsupported type.":     onceward.EffectNone,
		"File type not supported for overdue.docx. Supported: pdf":    onceward.EffectNone,
		"Tool choice list_overdue_invoices has not been registered":   onceward.EffectNone,
		"Something is wrong with listOverdueInvoices.":                onceward.EffectNone,
		"Something is wrong with get-model not found in there.":       onceward.EffectDeploymentDown,
		"Your account has an overdue balance.":                        onceward.EffectDisable,
		"Your account is overdue.":                                    onceward.EffectDisable,
		"insufficient_quota":                                          onceward.EffectDisable,
		"overloaded_error: Overloaded":                                onceward.EffectBreaker,
		"Error: 'Your credit balance is too low'":                     onceward.EffectDisable,
		"'Your credit balance is too low'":                            onceward.EffectDisable,
		"upstream returned \"Incorrect API key provided: sk-x\"":      onceward.EffectDisable,
		"The model 'my-overloaded-model' does not exist.":             onceward.EffectDeploymentDown,
		"The model `gpt-9` does not exist or you do not have access.": onceward.EffectDeploymentDown,
	} {
		if f := Classify(Input{Status: http.StatusBadRequest, Body: errorBody(t, "", message)}); f.StateEffect != want {
			t.Errorf("%s: %s %s, want %s", message, f.Class, f.StateEffect, want)
		}
	}
}
