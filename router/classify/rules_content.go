package classify

import (
	"regexp"

	"github.com/onceward/onceward"
)

// contentRules are refusals for what the request says. They are never routed
// around, so they come before everything that is.
var contentRules = []rule{
	{class: onceward.ClassRefusal, when: undecided, words: "unable to respond to this request, which appears to violate"},
	{class: onceward.ClassRefusal, when: undecided, words: "refusal"},
	{class: onceward.ClassPolicyBlocked, when: failed, words: "invalid_prompt"},
	{class: onceward.ClassContentFiltered, when: failed, words: "content_filter"},
	{class: onceward.ClassContentFiltered, strong: true, words: "content management policy"},
	{class: onceward.ClassPolicyBlocked, strong: true, words: "violating our usage polic"},
	{class: onceward.ClassPolicyBlocked, when: is(246, 446)},
}

// imageLimits are refusals of one image's measures: another host's are larger.
var imageLimits = regexp.MustCompile(`image[^.]{0,80}(?:exceeds?|larger than|too large|greater than|above|max(?:imum)? allowed)[^.]{0,80}` +
	`(?:\bmb\b|bytes|pixels?|px|size|megapixel)|image dimensions|too many images|` +
	`(?:at most|maximum of|exceeds?(?: the)? (?:max(?:imum)?|limit)(?: number)?(?: of)?) \d* ?(?:images|pdf pages|pages)`)
