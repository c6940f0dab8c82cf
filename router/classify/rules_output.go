package classify

import "github.com/onceward/onceward"

// outputRules are errors that report the model's output, not the request: the
// model answered, and another attempt may answer better.
var outputRules = []rule{
	{class: onceward.ClassInvalidOutput, strong: true, codes: []string{"tool_use_failed", "json_validate_failed", "output_parse_failed",
		"MALFORMED_FUNCTION_CALL", "invalid_tool_call", "invalid_output", "json_parse_error_output",
	}, any: []string{"tool call validation failed", "failed to call a function", "parse tool call", "parsing tool call", "parse tool argument",
		"parse function call", "parsing function call", "parse tool output", "parse the tool call", "failed to generate json", "failed to validate json",
		"failed_generation", "model produced invalid content", "model output is not valid", "model generated invalid", "produced invalid sequence",
		"invalid json output", "model did not output", "malformed function call", "model returned invalid", "could not parse model output",
		"unparsable model output", "model produced an invalid", "parsing failed. the model generated output that could not be parsed",
	}},
	{class: onceward.ClassIncompleteOutput, any: []string{"model output limit was reached", "output token limit was reached", "output limit reached",
		"reason: max_output_tokens",
	}},
	{class: onceward.ClassEmptyOutput, strong: true, codes: []string{"empty_response", "empty_output", "no_output"}, any: []string{"model returned an empty",
		"empty response from", "returned empty response", "empty completion", "no content in response", "received empty",
		"model output must contain either output text or tool calls", "no output was generated", "empty_response", "no content returned",
	}},
}

// requestRules are plain faults of the request.
var requestRules = []rule{
	{class: onceward.ClassInvalidRequest, when: clientFault, over: []override{fallback(true)}, codes: []string{"image_too_large", "image_file_too_large",
		"image_too_small",
	}, any: []string{"image", "pdf"}, re: imageLimits},
	{class: onceward.ClassInvalidRequest, when: clientFault, codes: []string{"invalid_value", "invalid_type", "missing_required_parameter",
		"invalid_function_parameters", "invalid_json_schema", "invalid_image_file", "invalid_image", "invalid_image_url", "image_parse_error",
		"invalid_image_format", "invalid_image_mode", "invalid_base64", "empty_image_file", "failed_to_download_image", "image_file_not_found",
		"decimal_below_min_value", "decimal_above_max_value", "integer_below_min_value", "integer_above_max_value", "array_above_max_length",
		"array_below_min_length", "string_above_max_length", "string_below_min_length", "empty_array", "empty_string", "unknown_parameter",
		"invalid_parameter", "invalid_parameter_error", "bad_request_body", "json_parse_error", "invalid_json", "invalid_request_body", "missing",
		"value_error", "extra_forbidden", "invalid_schema", "invalid_tool_name", "duplicate_item", "image_content_error", "invalid_file", "parse_error",
		"validation_error", "RequestValidationError", "unprocessable_entity_error", "UnprocessableEntity", "literal_error", "invalid_message", "invalid_role",
		"MALFORMED_REQUEST", "SerializationException", "invalid_base64_image", "image_generation_user_error", "mismatched_parameter",
		"conflicting_parameters", "invalid_request_message_order",
	}},
	{class: onceward.ClassInvalidRequest, when: clientFault, any: []string{"invalid schema for", "invalid value", "invalid type", "missing required",
		"required property", "required parameter", "field required", "is required", "must be one of", "must be a", "must be of type", "must be greater than",
		"must be less than", "must be between", "must not be", "must contain", "must be in", "cannot be empty", "should be in", "should be a valid",
		"should be less", "should be greater", "could not parse the json", "invalid json", "unexpected token", "failed to parse", "unable to parse",
		"parse error", "expected a string", "expected an object", "expected an array", "expected a value", "expected string", "expected array",
		"expected object", "expected number", "expected boolean", "validation failed", "malformed", "invalid image", "could not process image",
		"error while downloading", "invalid argument", "invalid_request_error", "badrequesterror", "invalid parameter", "invalid base64", "invalid request",
		"string too long", "above maximum", "below minimum", "validation error", "does not match pattern", "not of type", "additional properties",
		"additionalproperties", "unknown name", "unknown parameter", "cannot find field", "failed to download image", "unable to download",
		"unable to process input image", "cannot identify image", "invalid message", "invalid role", "is invalid", "expected maxlength", "too many tools",
		"expected dict", "not a valid", "cannot both be", "mutually exclusive", "improperly formed", "provided without", "input should", "not valid",
		"must be set to", "must have", "at least one message", "messages: ", "参数",
	}},
	{class: onceward.ClassInvalidRequest, when: clientFault, any: nameFaults},
	// No server fails inside on a name: it says so with the wrong status. Whether
	// another one would is open, so the walk goes on.
	{class: onceward.ClassServerError, strong: true, when: is(500), over: []override{effect(onceward.EffectNone), scope(onceward.ScopeRequest)},
		any: nameFaults},
}

// clientFault holds for the statuses of a refused request, and where no status
// says anything else. What our own reading reports is never the request's fault:
// "malformed" is said of the bytes that came.
func clientFault(e *envelope) bool {
	switch e.status {
	case 400, 409, 415, 417, 422:
		return true
	case 404:
		return e.codeCount > 0 || len(e.text) > 0 && !e.page
	}
	return e.status < 300 && !e.readErr && (e.hasError || e.plain) && e.transport != Connection
}
