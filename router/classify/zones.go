package classify

// zone says what part of a body the scanner is in. The same key means
// different things in an error object and in an answer: a "message" of an
// answer is what the model said, and must never reach the rules.
type zone uint8

const (
	zRoot    zone = iota // the outermost object, an event, or an object that wraps one
	zError               // an error object
	zDetail              // an element of details, errors, detail
	zMeta                // metadata of an error
	zHeaders             // headers inside a socket wrapper
	zReasons             // incomplete_details
	zItem                // an output item of a Responses answer
	zContent             // a content part
	zChoice              // a choice of a chat answer
	zMessage             // the message of a choice
	zCall                // a tool call of a choice
	zCand                // a candidate of a Gemini answer
	zPrompt              // promptFeedback
	zFilter              // content filter results
	zSkip                // the caller's own data, or nothing of interest
)

// knownKeys are the keys that mean something to the scanner.
// They are found by their first letter, whatever its case, and their length: most
// keys of a body are unknown, and nearly all of those are told by these two.
var knownKeys = func() (keys [32][32][]string) {
	for _, k := range []string{
		"error", "errors", "exception", "response", "detail", "details", "message", "msg", "error_message", "errormessage", "error_msg",
		"errormsg", "error_description", "description", "title", "reason", "code", "error_code", "errorcode", "err_code", "error_type",
		"errortype", "__type", "type", "status", "statuscode", "status_code", "http_status", "output", "choices", "candidates", "content",
		"stop_reason", "stopreason", "resets_in_seconds", "resets_at", "finish_reason", "finishreason", "promptfeedback", "blockreason", "incomplete_details", "usage", "object", "data", "body",
		"metadata", "raw", "reasons", "limit_source", "headers", "innererror", "inner_error", "innerexception", "cause", "param",
		"provider_specific_fields", "content_filter_result", "content_filter_results", "content_filters", "filtered", "blocked", "retrydelay", "quotaid", "id",
		"violations", "fieldviolations", "item", "delta", "arguments", "input", "text", "summary", "refusal", "parts", "functioncall",
		"tool_calls", "function", "output_text", "request_id", "requestid", "retry_after", "retry_after_ms", "retry_after_seconds", "tools", "instructions",
		"fault", "faultstring", "errordetail", "err", "loc", "domain", "name", "object_type", "event", "originalmessage", "original_message", "resource_exhausted",
		"retry-after", "retry-after-ms", "stop_details", "base_resp", "status_msg", "function_call", "upstream_error", "error_details", "result", "success", "messages",
	} {
		at := &keys[k[0]&31][len(k)]
		*at = append(*at, k)
	}
	return keys
}()

// enter returns the zone of an object found under key in zone z.
func (e *envelope) enter(z zone, key string) zone {
	switch z {
	case zRoot:
		return e.enterRoot(key)
	case zError, zDetail, zMeta:
		return enterError(z, key)
	case zItem:
		switch key {
		case "content", "output_text":
			return zContent
		case "error":
			return zSkip // a failed hosted tool is the answer's business
		case "":
			return zSkip
		case "output":
			return z
		}
		return zSkip
	case zContent:
		return zSkip
	case zChoice:
		switch key {
		case "message", "delta":
			return zMessage
		case "error":
			e.hasError = true
			return zError
		case "content_filter_results":
			return zFilter
		}
		return zSkip
	case zMessage:
		switch key {
		case "tool_calls", "function_call":
			return zCall
		case "content":
			return zContent
		}
		return zSkip
	case zCall:
		if key == "function" {
			return zCall
		}
		return zSkip
	case zCand:
		switch key {
		case "content", "parts":
			return zCand
		case "functioncall":
			e.sawCall = true
		}
		return zSkip
	case zFilter:
		return zFilter
	default:
		return zSkip
	}
}

func (e *envelope) enterRoot(key string) zone {
	switch key {
	case "":
		return zRoot
	case "response":
		e.inResponse = true
		return zRoot
	case "error", "err", "exception", "fault", "upstream_error":
		e.hasError = true
		return zError
	case "errors", "detail", "details", "violations", "error_details":
		return zDetail
	case "message", "data", "body", "cause", "innererror", "errordetail", "result", "resource_exhausted", "base_resp":
		return zError
	case "metadata":
		return zMeta
	case "headers":
		return zHeaders
	case "incomplete_details":
		return zReasons
	case "output", "item":
		e.items++
		return zItem
	case "content":
		e.items++
		return zContent
	case "content_filters", "content_filter_results":
		return zFilter
	case "choices":
		e.choices++
		return zChoice
	case "candidates":
		e.choices++
		return zCand
	case "promptfeedback":
		return zPrompt
	case "usage":
		e.usage = true
		return zSkip
	}
	return zSkip
}

func enterError(z zone, key string) zone {
	switch key {
	case "details", "errors", "violations", "fieldviolations", "detail", "error_details":
		return zDetail
	case "metadata":
		return zMeta
	case "headers":
		return zHeaders
	case "content_filter_result", "content_filter_results", "content_filters":
		return zFilter
	case "error", "message", "innererror", "inner_error", "innerexception", "cause", "provider_specific_fields", "raw", "data", "body",
		"err", "fault", "msg", "":
		if z == zDetail && key == "" {
			return zDetail
		}
		return zError
	}
	return zSkip
}

// leave closes an object.
func (e *envelope) leave(z zone, key string, inner zone, count int) {
	if z == zRoot && key == "error" && count == 0 {
		e.emptyError = true // {"error":{}} says that it failed and no more
	}
	if inner == zRoot && key == "" && count == 0 {
		e.emptyObject = true
	}
}

func (e *envelope) onArray(z zone, key string) {
	if z != zRoot {
		return
	}
	switch key {
	case "output":
		e.outputKey = true
	case "content":
		e.contentKey = true
	case "choices", "candidates":
		e.choicesKey = true
	case "errors":
		e.hasError = true
	}
}

func (e *envelope) onNull(z zone, key string) {
	if z == zRoot && key == "error" {
		e.nullError = true
	}
	if z == zRoot && key == "" {
		e.nullBody = true
	}
}

func (e *envelope) onBool(z zone, key string, v bool) {
	if z == zFilter && (key == "filtered" || key == "blocked") && v {
		e.filtered = true
		e.addCode("content_filter")
	}
	if z == zRoot && key == "success" && !v {
		e.hasError = true
	}
}
