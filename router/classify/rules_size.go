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
	{class: onceward.ClassRequestTooLarge, any: []string{"request too large for"}},
	{class: onceward.ClassRequestTooLarge, when: func(e *envelope) bool { return (e.status == 429 || e.status == 413) && asksMoreThanLimit(e.text) },
		all: []string{
			"limit", "requested",
		}},

	{class: onceward.ClassContextLength, codes: []string{"context_length_exceeded", "TOO_MANY_TOKENS", "too_many_prompt_tokens", "exceed_context_size_error",
		"context_window_exceeded", "ContextWindowExceededError", "model_context_window_exceeded", "prompt_too_long", "input_too_long",
		"string_above_max_length_context", "context_too_large", "input_length_exceeded", "max_context_length_exceeded",
	}},
	{class: onceward.ClassContextLength, strong: true, when: not(402, 429, 503, 529), any: []string{"maximum context length", "max context length",
		"maximum context window", "context length exceeded", "context_length_exceeded", "exceeds the context window", "exceed the context window",
		"exceeds the context length", "context window exceeded", "contextwindowexceeded", "context window of this model", "prompt is too long",
		"prompt too long", "prompt is longer than", "input is too long for", "maximum number of tokens allowed", "maximum prompt length",
		"longer than the model's context", "exceeds the available context size", "exceed n_ctx", "n_ctx_per_seq", "greater than the context length",
		"when context the overflows", "context overflow", "less than the context length", "'max_new_tokens' must be <=", "exceeds the model's maximum",
		"exceeds model's maximum", "exceeds the limit of this model", "exceeds the maximum allowed input length", "exceeds max length",
		"exceeds maximum context", "model's context length", "larger than the context", "total number of tokens", "context size has been exceeded",
		"maximum model length", "total length of all messages is too long", "range of input length should be", "input token count exceeds", "context limit",
		"model's context window", "model context window", "context length of the model", "context length is only", "exceeds the input token limit",
		"input tokens exceed", "tokens exceed the", "prompt contains too many tokens", "conversation is too long", "exceeds maximum allowed token",
		"max_seq_len", "上下文", "超长", "最大长度",
	}, none: []string{"rate limit", "tokens per min"}},
	{class: onceward.ClassContextLength, when: func(e *envelope) bool { return e.status != 402 && e.status != 429 && e.status < 500 }, any: []string{"token",
		"context", "prompt", "input length", "too long", "sequence length",
	}, none: []string{"rate limit", "per minute", "please wait", "image", "string too long", "too many requests", "file size", "payload"}, re: either(
		`(?:prompt|input|message|conversation|context)[\w ]{0,30} tokens?[^.]{0,60}exceed`,
		`tokens? (?:count |length |number )?(?:of \S+ )?exceeds?[^.]{0,60}(?:limit|max|context|length|size|window)`, `too many (?:input |prompt )?tokens\b`,
		`(?:input|prompt|messages?|context)[^.]{0,60}(?:is|are) too (?:long|large|big)`, `token (?:count|limit)[^.]{0,60}exceed`,
		`exceed[^.]{0,60}(?:context|token) (?:length|limit|window|size)`, `(?:sequence|input) length[^.]{0,60}(?:longer|exceed|greater|larger) `,
		`context (?:length|window|size)[^.]{0,30}exceed`, `must (?:have|be|contain) (?:less|fewer) than \d+ tokens`,
		`reduce (?:the length|your prompt|the prompt|your input|the input)`,
	)},

	{class: onceward.ClassRequestTooLarge, strong: true, codes: []string{"request_too_large", "payload_too_large", "request_entity_too_large",
		"entity.too.large", "body_too_large", "file_too_large", "RequestSizeLimitExceeded", "RequestBodyTooLarge",
	}, any: []string{"request entity too large", "payload too large", "request exceeds the maximum size", "request body too large",
		"request body is too large", "body exceeded", "request body larger", "content too large", "request size exceeds", "request payload size exceeds",
		"exceeds the maximum request size", "maximum content size limit", "request too large", "length limit exceeded", "request body size", "uri too long",
		"request header fields too large", "request header or cookie too large", "exceeds the maximum allowed size", "exceeded maximum allowed payload",
		"message too long", "frame exceeds", "message too big", "failed to buffer the request body",
	}, none: []string{"image", "per min"}},
	{class: onceward.ClassRequestTooLarge, any: []string{"request", "body", "payload", "message"}, when: is(400, 422), re: either(
		`\b(?:request|body|payload|message)\b[^.\n]{0,60}(?:exceed|larger|bigger|greater|below|under|at most|limit|max|over)[^.\n]{0,60}\d ?`+unitOfSize,
		`\b(?:request|body|payload|message)\b[^.\n]{0,40}\d ?`+unitOfSize+`[^\n]{0,60}(?:exceed|larger|limit|max|allowed)`,
	), none: []string{"image", "pdf", "file", "audio", "video"}},
	{class: onceward.ClassContextLength, any: []string{"tokens"}, when: is(400, 422), re: either(
		`\b(?:request(?:ed)?|input|prompt|messages)\b[^.\n]{0,30}\d tokens?\b[^\n]{0,50}(?:limit|at most|max|allowed|more than)[^\n]{0,20}\d`,
	), none: []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "output tokens", "rate limit", "per minute", "image"}},
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
