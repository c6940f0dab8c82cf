package classify

import (
	"regexp"

	"github.com/onceward/onceward"
)

// modelRules are about what this deployment serves and what it can do.
var modelRules = []rule{
	{class: onceward.ClassUnsupportedCapability, strong: true, any: []string{"no endpoints found that support", "no endpoints found that can handle",
		"operation does not work with the specified model", "operation is unsupported", "not a chat model", "supported in the v1/completions endpoint",
		"only supported in v1/", "not supported by responses api", "not supported in the v1/",
	}},
	{class: onceward.ClassModelUnavailable, codes: []string{"model_not_found", "DeploymentNotFound", "model_not_available", "model_unavailable",
		"model_decommissioned", "model_deprecated", "model_not_supported", "invalid_model", "unknown_model", "model_access_denied", "key_model_access_denied",
		"team_model_access_denied", "model_not_exist", "ModelNotFoundError", "unsupported_model", "unavailable_model", "ModelNotOpen",
		"InvalidEndpointOrModel", "InvalidEndpoint", "no_such_model", "model_not_loaded", "dedicated_endpoint_not_running", "deploymentmodelnotsupported",
		"model_invalid", "RESOURCE_DOES_NOT_EXIST", "model_terms_required", "model_permission_denied", "model_permission_blocked_org",
		"model_permission_blocked_project", "invalidmodelid", "model_retired",
	}, none: []string{"previous response", "item with id"}},
	{class: onceward.ClassModelUnavailable, strong: true, any: []string{"try pulling it first", "model identifier is invalid", "not a valid model",
		"no models loaded", "model is not available", "model is not supported", "model not found", "models not found", "unknown model", "invalid model name",
		"invalid model id", "no endpoints found", "no endpoints available", "no allowed providers are available", "end of its life", "has been deprecated",
		"been decommissioned", "has been retired", "no longer supported", "no longer available", "on-demand throughput isn't supported",
		"use case details have not been submitted", "for this resource does not exist", "deployment does not exist", "unable to access model",
		"unable to access non-serverless", "llm provider not provided", "access to the model", "access to model", "not allowed to access model",
		"can only access models", "requires more system memory", "failed to load model", "error loading model", "model does not exist",
		"does not exist or you do not have access", "doesn't exist or you do not have access", "is not a serverless", "not deployed",
		"call modelservice.listmodels", "call listmodels", "publisher model", "not enabled for this model", "modelnotfound", "no such model",
		"requires terms acceptance", "is not supported by this account", "not supported when using", "model is not enabled", "model is disabled",
		"model disabled", "model unloaded", "model is unloaded", "model agreement", "not found for account", "not activated the model", "unavailable model",
		"requires a subscription", "requires a paid", "requires a newer version", "model access is", "模型不存在", "暂未开放", "not found the model",
		"is not enabled for this account", "unsupported model", "is not supported. supported models", "model_not_found", "unable to load model",
		"unable to find model", "could not find model", "couldn't find model", "model not supported", "is not a supported model",
		"supported api model names are", "supported model names are", "model not exist", "no available model", "specified model id",
	}, none: []string{"previous response", "item with id", "image", "'tools'", "tool use", "parameter", "at capacity", "overloaded",
		"longer supported, please use 'max_completion",
	}},
	{class: onceward.ClassModelUnavailable, strong: true, any: []string{"model", "deployment"}, none: []string{"previous response", "item with id",
		"image file", "file with id", "tool output", "capacity", "tokens",
	}, re: either(
		`\b(?:model|deployment)s?\b[ :=]*(?:named? |id |version )?(?:'[^']{1,160}'|[\w./:@-]{1,120})?(?: with deployment name \S*)?,? `+
			`(?:is |was |has |does |could |do |can )*(?:not|n't|been) (?:be )?`+
			`(?:found|exist|available|supported by this|served|loaded|recognized|removed|registered|deployed|accessible|a valid)`,
		`\bmodel '?[\w./:@-]{1,120}'? (?:was|has been|is) (?:removed|retired|discontinued|sunset|shut down|disabled)`, `(?:^|\n)model: \S+\n`,
		`\bmodel [\w./:-]+ is not supported`, `does not have access to (?:the )?model`, `model\S* (?:not found|doesn't exist)`,
		`(?:not find|no) (?:the )?model\b`,
	)},

	// The account is entitled to other models: the pair is lost, not the resource.
	{class: onceward.ClassModelUnavailable, when: is(400, 401, 403, 404), any: []string{"model", "your plan", "tier", "have access to"}, re: either(
		`\b(?:not (?:have )?(?:been )?(?:access|allowed|permitted|authorized|entitled)|no access|access (?:is )?denied)\b`+
			`[^.\n]{0,40}\b(?:this|the|requested|to) (?:\w+ )?model\b`,
		`(?:\bmodel\b|\bmodel [\w./:-]{1,80}|^[\w./:-]{1,80}) is (?:not (?:available|allowed|enabled|included|permitted|accessible)|unavailable)\b`+
			`[^\n]{0,30}\byour\b`,
		`\bhave access to '?[a-z][\w./:]*-[\w./:-]*\d`, `model not available (?:on|for|in|with) your`, `not allowed to sample from this`,
	)},
	{class: onceward.ClassModelUnavailable, any: []string{"endpoint"}, re: either(`endpoint\b[^\n]{0,120} is (?:not running|stopped|paused|not active)`)},

	// Local servers say 500 for a modality that the model lacks.
	{class: onceward.ClassUnsupportedCapability, strong: true, any: []string{"image input is not supported", "audio input is not supported",
		"video input is not supported", "does not support image", "does not support audio", "does not support video", "does not support thinking",
		"does not support function", "does not support embeddings", "does not support chat", "does not support vision", "does not support multimodal",
		"does not support generate", "does not support tool", "requires --jinja",
	}},
	{class: onceward.ClassUnsupportedCapability, when: func(e *envelope) bool { return e.status != 429 && e.status != 401 }, codes: []string{
		"unsupported_parameter", "unsupported_value", "unsupported_file", "unsupported_country_param", "unsupported_image_media_type",
		"UnsupportedParamsError", "unsupported_format", "unsupported_feature", "unsupported_tool", "OperationNotSupported", "feature_not_supported",
		"not_implemented", "unsupported_content_type", "unsupported_input", "unimplemented", "unsupported_operation", "unsupported_endpoint",
	}},
	{class: onceward.ClassUnsupportedCapability, strong: true, any: []string{"doesn't support", "is unsupported", "unsupported mime", "unsupported parameter",
		"unsupported value", "unsupported file", "unsupported content type", "unsupported tool", "unsupported image", "unsupported media",
		"unsupported response_format", "unsupported message role", "unsupported input", "unsupported format", "unsupported request field",
		"unsupported field", "unsupportedparams", "unrecognized request argument", "unrecognized argument", "extra inputs are not permitted",
		"extra fields not permitted", "does not match any of the expected tags", "unknown parameter: 'reasoning", "unknown parameter: 'text",
		"unknown parameter: 'store", "unknown parameter: 'include", "unknown parameter: 'tool", "unknown parameter: 'prompt", "unknown parameter: 'parallel",
		"unknown parameter: 'service", "unknown parameter: 'max", "not allowed for this project", "allowed for this model", "too many states for serving",
		"not compatible with this model", "is not enabled for this", "is not enabled for models/", "enable-auto-tool-choice", "tool choice requires",
		"no endpoints found that support", "not yet available", "not available for this", "not available for your", "isn't supported", "aren't supported",
		"not support", "chat template", "jinja template", "unable to generate parser", "not multimodal", "not a multimodal", "is not implemented",
		"not yet implemented", "multimodal is disabled", "cannot be used with", "may be provided in one", "is not permitted for this model",
		"at most 0 image", "image input", "not available on this", "unexpected keyword argument", "must be enabled to use", "is mandatory for this",
		"only works in", "only support", "specified for this model", "maximum tokens you requested", "exceeds the model limit", "not enabled on this",
		"requires a beta", "unknown field", "supports at most", "maximum allowed number of output tokens", "function calling is not enabled",
		"invalid beta flag", "unexpected value(s)", "tool calling is not",
	}, none: []string{"tokens to keep", "rate limit", "context length", "context window", "file with id", "too many requests", "image exceeds",
		"please provide a valid image", "maximum context",
	}, when: func(e *envelope) bool {
		return e.status != 429 && e.status != 415 && (e.status < 500 || e.status == 501) && e.transport != Connection
	}},
	// A cap on the output that is this model's, not everybody's.
	{class: onceward.ClassUnsupportedCapability, when: is(400, 422), any: []string{"max_tokens", "max_completion_tokens", "max_output_tokens",
		"maxoutputtokens",
	}, none: []string{"context length", "context window"}, re: either(
		`max_?(?:completion_|output_|output)?tokens[^\n]{0,160}(?:for this model|model'?s? (?:limit|supports|max)|by (?:this|the) model)`,
	)},
	{class: onceward.ClassUnsupportedCapability, when: aboutTools, any: []string{"supported values are", "expected one of", "unknown variant", "input tag",
		"invalid value", "input should be",
	}},
	// A role that came with the newer APIs.
	{class: onceward.ClassUnsupportedCapability, when: is(400, 422), any: []string{"developer"}, re: either(`'?developer'? is not one of`,
		`role:? '?developer\b`, `one of[^\n]{0,80}but got '?developer`,
	)},
	{class: onceward.ClassUnsupportedCapability, when: func(e *envelope) bool { return e.status < 429 && !pathParam(e.param) }, any: []string{
		"unknown variant", "unknown parameter", "unrecognized key",
	}},
	// A host that refuses the input without a word about what is wrong with it
	// lacks an item type: one that knows the type says which field it dislikes.
	{class: onceward.ClassUnsupportedCapability, when: func(e *envelope) bool { return e.status == 400 && e.param == "input" },
		any: []string{"invalid input"}, re: either(`^invalid input\.?\n$`)},
}

// aboutTools holds when the refused value is the type of a tool or an item.
func aboutTools(e *envelope) bool {
	return toolParam.MatchString(e.param) || toolParam.Match(e.text)
}

var toolParam = regexp.MustCompile(`(?:^|[ '])(?:tools[.\[]\d+\]?[\w.\[\]]*(?:type)?|tool_choice)\b`)

// pathParam tells a field inside the caller's items from a parameter.
func pathParam(p string) bool {
	for i := 0; i < len(p); i++ {
		if p[i] == '[' {
			return true
		}
	}
	return false
}
