package classify

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/onceward/onceward"
)

const unitOfSize = `(?:bytes|[kmg]i?b|kilobytes|megabytes)\b`

// sizeRules are about requests that do not fit.
var sizeRules = []rule{
	// More than the whole window allows: no wait will ever make it fit.
	{class: onceward.ClassRequestTooLarge, words: "request too large for"},
	{class: onceward.ClassRequestTooLarge, when: func(e *envelope) bool { return (e.status == 429 || e.status == 413) && asksMoreThanLimit(e.text) }, words: "limit"},

	{class: onceward.ClassContextLength, words: "context_length_exceeded"},
	{class: onceward.ClassContextLength, strong: true, when: not(402, 429, 503, 529), words: "maximum context length"},
	{class: onceward.ClassContextLength, when: func(e *envelope) bool { return e.status != 402 && e.status != 429 && e.status < 500 }, words: "token"},

	{class: onceward.ClassRequestTooLarge, strong: true, words: "request entity too large"},
	{class: onceward.ClassRequestTooLarge, words: "request", when: is(400, 422), re: either(
		`\b(?:request|body|payload|message)\b[^.\n]{0,60}(?:exceed|larger|bigger|greater|below|under|at most|limit|max|over)[^.\n]{0,60}\d ?`+unitOfSize,
		`\b(?:request|body|payload|message)\b[^.\n]{0,40}\d ?`+unitOfSize+`[^\n]{0,60}(?:exceed|larger|limit|max|allowed)`,
	)},
	{class: onceward.ClassContextLength, words: "tokens", when: is(400, 422)},
	{class: onceward.ClassRequestTooLarge, when: is(413)},
}

var limitRequested = regexp.MustCompile(`limit:? ([\d,]+)[^\n]{0,60}requested:? ([\d,]+)`)

// asksMoreThanLimit reads "Limit 30000, Requested 30601".
func asksMoreThanLimit(text []byte) bool {
	m := limitRequested.FindSubmatch(text)
	if m == nil {
		return false
	}
	limit, err1 := strconv.Atoi(string(bytes.ReplaceAll(m[1], []byte(","), nil)))
	asked, err2 := strconv.Atoi(string(bytes.ReplaceAll(m[2], []byte(","), nil)))
	return err1 == nil && err2 == nil && asked > limit
}

var (
	// "maximum context length is 6048 tokens ... (568 in the messages, 6048 in the completion)"
	sharedWindow = regexp.MustCompile(`context length is (\d+) tokens[^\n]*?` +
		`\((\d+) (?:in|of|tokens? (?:in|from)) (?:the |your )?(?:messages|prompt|input|text)`)
	// "'max_tokens' exceed context limit: 189136 + 20000 > 204648"
	summedWindow = regexp.MustCompile(`context limit: (\d+) \+ \d+ > (\d+)`)
)

// inputFitsAlone reports whether a context overflow is the output's share: the
// same input with a lower cap would have been taken.
func inputFitsAlone(text []byte) bool {
	var limit, input string
	if m := sharedWindow.FindSubmatch(text); m != nil {
		limit, input = string(m[1]), string(m[2])
	} else if m := summedWindow.FindSubmatch(text); m != nil {
		input, limit = string(m[1]), string(m[2])
	}
	has, err1 := strconv.Atoi(input)
	room, err2 := strconv.Atoi(limit)
	return err1 == nil && err2 == nil && has < room
}
