package classify

import (
	"github.com/onceward/onceward"
)

// accountRules are about paying and identity. Their texts beat 400 and 429: an
// account without money answers with all of these statuses.
var accountRules = []rule{
	// The account can pay for less: ask for less before giving the resource up.
	{class: onceward.ClassBilling, over: []override{effect(onceward.EffectNone), repair(onceward.RepairLowerOutput), retry(true)}, words: "can only afford"},
	{class: onceward.ClassBilling, words: "billing_not_active"},
	{class: onceward.ClassBilling, strong: true, words: "insufficient balance"},
	// Many a caller's tool and field is called overdue: only what is owed counts.
	{class: onceward.ClassBilling, strong: true, words: "overdue"},
	{class: onceward.ClassBilling, words: "billing details"},
	{class: onceward.ClassBilling, words: "account suspended"},

	// A subscription that serves the vendor's own clients only.
	{class: onceward.ClassPermission, when: is(400, 401, 403), words: "only available for"},

	// A date or a plan: the long quota. A subscription's limit may name its end as a
	// wait; that makes it no rate.
	{class: onceward.ClassQuotaExhausted, strong: true, when: not(402, 413), words: "specified api usage limits"},
	{class: onceward.ClassQuotaExhausted, when: not(402, 413), words: "quota_exhausted"},
	{class: onceward.ClassQuotaExhausted, when: is(429), words: "-hour"},
	// Google lists the windows that are used up. The day's outlasts the minute's.
	{class: onceward.ClassQuotaExhausted, when: is(429), words: "perday"},
	{class: onceward.ClassQuotaExhausted, when: func(e *envelope) bool { return e.status == 429 || undecided(e) }, words: "per_day"},
	// Google says "current quota" for every window; the window's name decides.
	{class: onceward.ClassQuotaExhausted, words: "exceeded your current quota"},
	{class: onceward.ClassRateLimited, words: "exceeded your current quota, for a moment"},
	{class: onceward.ClassQuotaExhausted, words: "insufficient_quota"},
	{class: onceward.ClassQuotaExhausted, words: "insufficient quota"},

	{class: onceward.ClassRegionBlocked, when: not(429), words: "ip not authorized"},
	{class: onceward.ClassRegionBlocked, when: is(400, 401, 403), words: "ip address"},

	{class: onceward.ClassPermission, over: []override{effect(onceward.EffectDeploymentDown), scope(onceward.ScopeDeployment)}, words: "must be verified to"},
	{class: onceward.ClassPermission, words: "missing_scope"},
	{class: onceward.ClassPermission, strong: true, words: "insufficient permissions"},

	{class: onceward.ClassAuthentication, when: not(403, 429), words: "invalid_api_key"},
	{class: onceward.ClassAuthentication, words: "UnrecognizedClientException"},
	{class: onceward.ClassAuthentication, strong: true, when: not(429), words: "incorrect api key"},
	// A credential that is known and yet may not, said with the status of one that is not.
	{class: onceward.ClassPermission, when: is(401), words: "does not have access to api"},
}
