package classify

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/onceward/onceward/router/page"
	"github.com/onceward/onceward/router/waits"
)

// addMessage takes one message text. JSON inside it is read as well: gateways
// paste the upstream's body into their own message.
func (e *envelope) addMessage(text string, level int) {
	e.addExceptions(text)
	if isPage(text) {
		e.page = true
		text = page.Words(text)
	}
	if at := nestedJSON.FindStringIndex(text); at != nil && level < maxLevel {
		// After a refusal of the request's form, or "while processing:", it is the caller's own JSON.
		before := text[:at[0]]
		if end := strings.ToLower(before[max(len(before)-256, 0):]); !refusesForm(end) && !(others(e.httpStatus) && ofCaller.MatchString(end)) {
			e.addText(before)
			if e.walkJSON([]byte(text[at[0]:]), level+1) {
				return
			}
			text = text[at[0]:]
		}
	}
	e.addText(text)
}

var (
	nestedJSON = regexp.MustCompile(`\{\s{0,6}["']`)
	// "litellm.RateLimitError: AzureException - ...", "An error occurred (ThrottlingException) when calling ..."
	exceptionNames = regexp.MustCompile(`^(?:\w+\.)*(\w+(?:Error|Exception)): ?(?:(?:\w+\.)*(\w+(?:Error|Exception)): )?|\berror occurred \((\w+)\)`)
	// A pair of JSON that broke off, or of Python's.
	pairs = regexp.MustCompile(`['"](?:code|type|status|reason|error_code)['"]\s*:\s*['"]?([\w.]{2,80})`)
	// An element of an error in XML.
	elements = regexp.MustCompile(`(?i)<(?:error_?)?(?:code|type)>([^<]{1,160})<`)
	// "Error code: 429 - ...", "HTTP 400, ...", `POST "https://...": 502 Bad Gateway`, "<503> ..."
	proseStatus = regexp.MustCompile(`(?:^\W{0,2}|\bstatus(?:[ _]?code)?\W{1,3}|\berror(?:[ _]code)?\W{1,3}|` +
		`\bhttp(?:/[\d.]+)?(?:\W{1,2}| error | status )|': )([45]\d\d)\b`)
)

// addExceptions takes the class names that client libraries put before a message
// as codes.
func (e *envelope) addExceptions(text string) {
	for _, m := range exceptionNames.FindAllStringSubmatch(clip(text, 256), 4) {
		for _, name := range m[1:] {
			e.addCode(name)
		}
	}
}

func (e *envelope) addPairs(text string) {
	for _, m := range pairs.FindAllStringSubmatch(clip(text, maxText), 16) {
		e.addCode(m[1])
		if n := statusInProse([]byte(m[1])); n != 0 {
			e.statusInBody = n
		}
	}
}

func (e *envelope) addElements(b []byte) {
	for _, m := range elements.FindAllSubmatch(clipBytes(b, maxText), 8) {
		e.addCode(string(m[1]))
	}
}

func statusInProse(text []byte) int {
	m := proseStatus.FindSubmatch(clipBytes(text, 512))
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// addText appends s in lower case with one kind of quote and single spaces, and
// looks for the phrases in it. Texts are kept apart by a line break.
func (e *envelope) addText(s string) {
	s = strings.TrimSpace(s)
	if s == "" {
		return
	}
	if e.first == "" {
		e.first = clip(s, maxSummary)
	}
	from := len(e.text)
	for i := 0; i < len(s) && len(e.text) < maxText; i++ {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '"' || c == '`':
			c = '\''
		case c == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2] >= 0x98 && s[i+2] <= 0x9F:
			c = '\'' // typographic quotes
			i += 2
		case c == '\n' || c == '\r' || c == '\t':
			c = ' '
		}
		if n := len(e.text); c == ' ' && n > from && e.text[n-1] == ' ' {
			continue
		}
		e.text = append(e.text, c)
	}
	table().find(e.text[from:], e.said) // a phrase never spans two texts
	e.text = append(e.text, '\n')
}

// longCap are codes that name a day's, a week's or a month's limit, and so no rate.
var (
	longCap   = regexp.MustCompile(`daily|weekly|monthly|per(?:day|week|month)|^[rt]pd`)
	limitWord = regexp.MustCompile(`limit|quota|cap|exceed|exhaust|tier|request|token|^[rt]pd`)
)

// addCode takes one code, type or reason.
func (e *envelope) addCode(s string) {
	if len(s) == 0 || len(s) > 160 {
		return
	}
	if at := strings.LastIndexByte(s, '#'); at >= 0 { // com.amazon.coral.service#AccessDeniedException
		s = s[at+1:]
	}
	s, _, _ = strings.Cut(s, ":") // ThrottlingException:http://...
	key := waits.Key(s)
	if key == "" || len(key) > 64 {
		return
	}
	e.codeCount++
	e.named = e.named || strings.Trim(s, "0123456789") != "" && !page.StatusName(strings.ToLower(s))
	e.hitCode(key)
	if head, _, ok := strings.Cut(s, "."); ok { // RateLimitExceeded.EndpointRPMExceeded is a rate limit, whatever its kind
		e.hitCode(waits.Key(head))
	}
	if longCap.MatchString(key) && limitWord.MatchString(key) {
		e.hitCode("quotaexhausted")
	}
}

// hitCode takes a code in the form of codeKey.
func (e *envelope) hitCode(key string) {
	for _, r := range table().codes[key] {
		e.coded[r] = true
	}
}

// isPage tells a page, whatever stands before it, from a text that repeats one.
func isPage(text string) bool {
	at := page.Within(text)
	return at >= 0 && (text[0] == '<' || !refusesForm(strings.ToLower(text[:at])))
}

func clipBytes(b []byte, n int) []byte { return b[:min(len(b), n)] }

// clip cuts s to at most n bytes without splitting a UTF-8 sequence.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
