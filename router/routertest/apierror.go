package routertest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// apiError is an error answer of the real API. Wordings follow recorded bodies.
type apiError struct {
	status  int
	message string
	typ     string
	param   string
	code    string
	bare    bool // gateway bodies carry only code and message
}

func (e *apiError) body() []byte {
	if e.bare {
		return encode(map[string]any{"error": map[string]any{"code": e.code, "message": e.message}})
	}
	return encode(map[string]any{"error": errorObject{
		Message: e.message, Type: e.typ, Param: orNull(e.param), Code: orNull(e.code),
	}})
}

func (e *apiError) label() string {
	if e.code != "" {
		return e.code
	}
	return e.message
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func badRequest(param, code, format string, args ...any) *apiError {
	return &apiError{status: 400, typ: "invalid_request_error", param: param, code: code, message: fmt.Sprintf(format, args...)}
}

func unknownParameter(param string) *apiError {
	return badRequest(param, "unknown_parameter", "Unknown parameter: '%s'.", param)
}

func missingParameter(param string) *apiError {
	return badRequest(param, "missing_required_parameter", "Missing required parameter: '%s'.", param)
}

func invalidType(param, want string, got json.RawMessage) *apiError {
	return badRequest(param, "invalid_type", "Invalid type for '%s': expected %s, but got %s instead.", param, want, jsonKind(got))
}

func jsonKind(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// unauthorized is the answer to a missing or a wrong key.
func unauthorized(d Dialect, key string) *apiError {
	if d == DialectAzure {
		return &apiError{status: 401, bare: true, code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}
	}
	if key == "" {
		return &apiError{status: 401, typ: "invalid_request_error", message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."}
	}
	return &apiError{status: 401, typ: "invalid_request_error", code: "invalid_api_key",
		message: fmt.Sprintf("Incorrect API key provided: %s. You can find your API key at https://platform.openai.com/account/api-keys.", mask(key))}
}

// mask keeps enough of a key to recognise it and no more.
func mask(key string) string {
	if len(key) < 12 {
		return "***"
	}
	return key[:3] + "***" + key[len(key)-2:]
}

func modelNotFound(d Dialect, model string) *apiError {
	if d == DialectAzure {
		return &apiError{status: 404, bare: true, code: "DeploymentNotFound", message: "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}
	}
	return badRequest("model", "model_not_found", "The requested model '%s' does not exist.", model)
}

func notPersisted(d Dialect, id string) *apiError {
	e := badRequest("input", "", "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id)
	if d == DialectOpenAI {
		e.status = 404
	}
	return e
}

func itemNotFound(id string) *apiError {
	return badRequest("input", "", "Item with id '%s' not found.", id)
}

func otherResource() *apiError {
	return badRequest("", "", "The requested item was created under a different Azure OpenAI resource. Use the same resource that created the item to access it.")
}

func previousNotFound(id string) *apiError {
	return badRequest("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", id)
}

func responseNotFound(id string) *apiError {
	return &apiError{status: 404, typ: "invalid_request_error", message: fmt.Sprintf("Response with id '%s' not found.", id)}
}

func conversationNotFound(id string) *apiError {
	return &apiError{status: 404, typ: "invalid_request_error", message: fmt.Sprintf("Conversation with id '%s' not found.", id)}
}

func fileNotFound(param, id string) *apiError {
	return &apiError{status: 404, typ: "invalid_request_error", param: param, code: "file_not_found",
		message: fmt.Sprintf("File with id '%s' was not found on this resource.", id)}
}

func tooLong() *apiError {
	return badRequest("input", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
}

func notDecryptable(it Item, content string) *apiError {
	if len(content) > 8 {
		content = content[:4] + "..." + content[len(content)-4:]
	}
	subject := content
	if it.Type == "compaction" {
		subject = "for item " + it.ID
	}
	return badRequest("", "invalid_encrypted_content", "The encrypted content %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", subject)
}

// usualBody is what the real API sends with a status.
func usualBody(status int) string {
	e := &apiError{typ: "invalid_request_error"}
	switch status {
	case 401:
		e.code, e.message = "invalid_api_key", "Incorrect API key provided: ***. You can find your API key at https://platform.openai.com/account/api-keys."
	case 402:
		e.typ, e.code, e.message = "billing_error", "insufficient_credits", "Insufficient credits. Add more credits to continue."
	case 403:
		e.code, e.message = "forbidden", "You have insufficient permissions for this operation."
	case 404:
		return string(modelNotFound(DialectAzure, "").body())
	case 408:
		e.typ, e.code, e.message = "timeout", "request_timeout", "The request timed out."
	case 429:
		e.typ, e.code, e.message = "tokens", "rate_limit_exceeded", "Rate limit reached for tokens per min (TPM). Please try again in 1s."
	case 503, 529:
		e.typ, e.code, e.message = "server_error", "server_is_overloaded", "Our servers are currently overloaded. Please try again later."
	default:
		if status >= 500 {
			e.typ, e.code, e.message = "server_error", "server_error", "The server had an error while processing your request. Sorry about that!"
		} else {
			e.message = "The request is not valid."
		}
	}
	return string(e.body())
}

func looksLikeJSON(body string) bool {
	b := bytes.TrimSpace([]byte(body))
	return json.Valid(b) && len(b) > 0 && (b[0] == '{' || b[0] == '[')
}
