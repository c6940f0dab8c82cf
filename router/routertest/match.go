package routertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Match is a declarative condition on a request; what is zero is not looked
// at. Texts are regular expressions where nothing else is said. It is used by
// rules and by faults.
type Match struct {
	// Turn is the number of call outputs in the input; see At.
	Turn *int `json:"turn,omitempty"`
	// Model is the requested model.
	Model string `json:"model,omitempty"`
	// FirstUser and LastUser are matched against those user messages.
	FirstUser string `json:"first_user,omitempty"`
	LastUser  string `json:"last_user,omitempty"`
	// LastOutputOf is the name of the tool whose output comes last.
	LastOutputOf string `json:"last_output_of,omitempty"`
	// LastOutput is matched against that output.
	LastOutput string `json:"last_output,omitempty"`
	// Instructions is matched against the instructions.
	Instructions string `json:"instructions,omitempty"`
	// Tool must be among the offered tools.
	Tool string `json:"tool,omitempty"`
	// Stream, when set, must equal the request's.
	Stream *bool `json:"stream,omitempty"`
	// Marker, a plain text, must stand in the body as sent or in one of the
	// strings that its JSON holds, whatever their escapes.
	Marker string `json:"marker,omitempty"`
	// Header lists headers that must have been sent with exactly these values;
	// it can tell one worker from another.
	Header map[string]string `json:"header,omitempty"`
	// Key is the credential that must have been sent, as it is and not a
	// regular expression.
	Key string `json:"key,omitempty"`
	// BytesAbove chooses bodies of more bytes than that.
	BytesAbove int `json:"bytes_above,omitempty"`
	// OutputAbove chooses requests whose output limit (max_output_tokens,
	// max_completion_tokens or max_tokens) is above it. A request without a limit
	// is chosen: a host takes the model's largest for it.
	OutputAbove int `json:"output_above,omitempty"`
	// OutputBelow chooses requests that state an output limit below it.
	OutputBelow int `json:"output_below,omitempty"`
}

// At makes the value of Match.Turn.
func At(turn int) *int { return &turn }

// sent is a request as it came. Records have their credentials replaced and,
// once many bytes are kept, lose their bodies, so conditions do not look there.
type sent struct {
	header http.Header
	body   []byte
}

type matcher struct {
	m  Match
	re map[string]*regexp.Regexp
}

func (m Match) compile() (*matcher, error) {
	if m.BytesAbove < 0 || m.OutputAbove < 0 || m.OutputBelow < 0 {
		return nil, errors.New("match: a number is negative")
	}
	c := &matcher{m: m, re: map[string]*regexp.Regexp{}}
	for key, expr := range map[string]string{
		"first_user": m.FirstUser, "last_user": m.LastUser, "last_output": m.LastOutput, "instructions": m.Instructions,
	} {
		if expr == "" {
			continue
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("match %s: %w", key, err)
		}
		c.re[key] = re
	}
	return c, nil
}

// match returns the groups of the user expression when everything holds.
func (c *matcher) match(req Request, as sent) (groups []string, ok bool) {
	m := c.m
	tool, output, _ := req.LastOutput()
	switch {
	case m.Turn != nil && *m.Turn != req.Turn(),
		m.Model != "" && m.Model != req.Body.Model,
		m.LastOutputOf != "" && m.LastOutputOf != tool,
		m.Tool != "" && !req.HasTool(m.Tool),
		m.Stream != nil && *m.Stream != req.Body.Stream,
		!m.holds(req, as):
		return nil, false
	}
	for _, t := range []struct{ key, text string }{
		{"first_user", req.FirstUser()}, {"last_user", req.LastUser()},
		{"last_output", output}, {"instructions", str(req.Body.Instructions)},
	} {
		re := c.re[t.key]
		if re == nil {
			continue
		}
		g := re.FindStringSubmatch(t.text)
		if g == nil {
			return nil, false
		}
		if strings.HasSuffix(t.key, "_user") {
			groups = g
		}
	}
	return groups, true
}

// holds checks the conditions on what was sent, which say nothing of the
// conversation in it.
func (m Match) holds(req Request, as sent) bool {
	for key, value := range m.Header {
		if !slices.Contains(as.header.Values(key), value) {
			return false
		}
	}
	limit := req.Body.MaxOutputTokens
	switch {
	case m.Key != "" && presentedKey(as.header) != m.Key,
		m.BytesAbove > 0 && len(as.body) <= m.BytesAbove,
		m.OutputAbove > 0 && limit > 0 && limit <= m.OutputAbove,
		m.OutputBelow > 0 && (limit == 0 || limit >= m.OutputBelow),
		m.Marker != "" && !holdsText(as.body, m.Marker):
		return false
	}
	return true
}

// holdsText also looks into decoded strings: an encoder that writes < as \u003c
// must not carry a marker past the firewall.
func holdsText(body []byte, text string) bool {
	if bytes.Contains(body, []byte(text)) {
		return true
	}
	for dec := json.NewDecoder(bytes.NewReader(body)); ; {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		if s, ok := token.(string); ok && strings.Contains(s, text) {
			return true
		}
	}
}
