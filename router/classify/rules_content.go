package classify

import (
	"regexp"

	"github.com/onceward/onceward"
)

// contentRules are refusals for what the request says. They are never routed
// around, so they come before everything that is.
var contentRules = []rule{
	{class: onceward.ClassRefusal, when: undecided, any: []string{"unable to respond to this request, which appears to violate", "i can't help with that",
		"model refused to",
	}},
	{class: onceward.ClassRefusal, when: undecided, codes: []string{"refusal"}},
	{class: onceward.ClassPolicyBlocked, when: failed, codes: []string{"invalid_prompt", "cyber_policy", "bio_policy", "cyber_policy_violation",
		"misalignment_policy_violation", "hooks_failed", "guardrail_intervened", "guardrail_violation", "guardrails_violated", "guardrail_blocked",
		"policy_violation", "usage_policy_violation", "safety_policy_violation", "prompt_injection_detected", "pii_detected", "acceptable_use_policy",
	}},
	{class: onceward.ClassContentFiltered, when: failed, codes: []string{"content_filter", "content_filtered", "content_policy_violation",
		"ResponsibleAIPolicyViolation", "ContentPolicyViolationError", "moderation_blocked", "content_filter_error", "content_filter_results",
		"data_inspection_failed", "content_moderation", "moderation_error", "content_blocked", "sensitive_words_detected", "image_content_policy_violation",
		"PROHIBITED_CONTENT", "RECITATION", "SAFETY", "1301", "content_policy_error", "safety_error", "SensitiveContentDetected",
		"InputTextSensitiveContentDetected", "OutputTextSensitiveContentDetected", "InputImageSensitiveContentDetected",
	}},
	{class: onceward.ClassContentFiltered, strong: true, any: []string{"content management policy", "content filter", "contentpolicyviolation",
		"content_filter", "content moderation", "response was filtered", "prompt was filtered", "blocked by content", "output blocked by",
		"input was flagged", "flagged by moderation", "inappropriate content", "safety filter", "safety settings", "blocked due to safety",
		"blocked by safety", "prompt was blocked", "response was blocked", "safety system", "responsibleaipolicy", "responsible ai policy", "content safety",
		"prohibited content", "prohibited_content", "content exists risk", "sensitive content", "blockreason", "content risk",
		"may contain unsafe or sensitive", "may contain sensitive", "considered high risk", "敏感", "new_sensitive", "image generation blocked",
		"flagged by our moderation",
	}, none: []string{"content filter configuration", "content filter policy name", "invalid content filter"}},
	{class: onceward.ClassPolicyBlocked, strong: true, any: []string{"violating our usage polic", "violate our usage polic", "violates our usage polic",
		"violation of our usage polic", "usage policies", "usage policy", "usage guidelines", "acceptable use policy",
		"limited access to this content for safety", "guardrail", "cyber policy", "violates the terms", "policy violation", "violates our polic",
		"violate our polic", "flagged as potentially", "flagged for possible", "flagged for potential", "high-risk cyber", "biological safety",
		"against our policies", "disallowed by policy", "blocked by policy",
	}, none: []string{"rate limit", "quota", "no endpoints"}},
	{class: onceward.ClassPolicyBlocked, when: is(246, 446)},
}

// imageLimits are refusals of one image's measures: another host's are larger.
var imageLimits = regexp.MustCompile(`image[^.]{0,80}(?:exceeds?|larger than|too large|greater than|above|max(?:imum)? allowed)[^.]{0,80}` +
	`(?:\bmb\b|bytes|pixels?|px|size|megapixel)|image dimensions|too many images|` +
	`(?:at most|maximum of|exceeds?(?: the)? (?:max(?:imum)?|limit)(?: number)?(?: of)?) \d* ?(?:images|pdf pages|pages)`)
