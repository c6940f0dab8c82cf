package classify

import (
	"github.com/onceward/onceward"
)

// accountRules are about paying and identity. Their texts beat 400 and 429: an
// account without money answers with all of these statuses.
var accountRules = []rule{
	// The account can pay for less: ask for less before giving the resource up.
	{class: onceward.ClassBilling, over: []override{effect(onceward.EffectNone), repair(onceward.RepairLowerOutput), retry(true)}, any: []string{
		"can only afford",
	}, re: either(`can only afford [1-9]`)},
	{class: onceward.ClassBilling, codes: []string{"billing_not_active", "billing_hard_limit_reached", "billing_limit_reached", "billing_error",
		"insufficient_balance", "insufficient_credits", "insufficient_credit", "payment_required", "credit_exhausted", "credits_exhausted", "budget_exceeded",
		"Arrearage", "insufficient_user_quota", "insufficient_funds", "out_of_credits", "credit_limit_exceeded", "spend_limit_exceeded",
		"spending_limit_reached", "account_overdue", "1113", "BILLING_DISABLED", "pre_consume_token_quota_failed", "AccountOverdueError",
		"balance_insufficient", "no_credits", "usage_not_included", "PaymentRequiredError", "creditserror", "free_tier_only",
	}},
	{class: onceward.ClassBilling, strong: true, any: []string{"insufficient balance", "insufficient credit", "credit balance is too low",
		"billing hard limit", "billing limit has been reached", "budget has been exceeded", "exceeded budget", "exceededbudget", "over budget",
		"budget exceeded", "payment required", "account is not active, please check your billing", "out of credits", "no credits", "not enough credits",
		"used all available credits", "doesn't have any credits", "don't have any credits", "does not have any credits", "purchase more credits",
		"add more credits", "requires more credits", "credit limit exceeded", "exceeded your monthly included credits", "spending limit", "spend limit",
		"failure to pay", "past due", "in good standing", "insufficient funds", "balance is insufficient", "balance is not enough", "not enough balance",
		"please recharge", "top up your", "account balance", "insufficient user quota", "insufficient_user_quota", "billing to be enabled",
		"requires billing", "billing is disabled", "billing account", "billing not enabled", "no active subscription", "subscription has expired",
		"payment method is invalid", "invalid_payment_instrument", "valid payment instrument", "valid payment method", "valid credit card",
		"credit card on file", "余额不足", "额度不足", "已用尽", "欠费", "请充值", "已到期", "credits have been exhausted", "credits exhausted", "exhausted your credits",
		"credits are required", "depleted your", "prepayment credits", "credits are depleted",
	}, none: []string{"rate limit reached", "to increase your rate limit", "rate limits:"}},
	// Many a caller's tool and field is called overdue: only what is owed counts.
	{class: onceward.ClassBilling, strong: true, any: []string{"overdue"}, re: either(
		`\b(?:accounts?|payments?|bills?|balance|subscription)\b[^.\n]{0,40}\boverdue\b`, `\boverdue (?:payments?|balance|bills?|fees?|amount)\b`,
	)},
	{class: onceward.ClassBilling, any: []string{"billing details", "billing information", "your billing"}, all: []string{"suspended"}},
	{class: onceward.ClassBilling, any: []string{"account suspended"}, re: either(`invoice|spending|payment|billing|balance`)},

	// A subscription that serves the vendor's own clients only.
	{class: onceward.ClassPermission, when: is(400, 401, 403), any: []string{"only available for", "only authorized for", "only available to"}, re: either(
		`only (?:available|authorized) (?:for|to) (?:use (?:with|in|by) )?(?:the |our )?` +
			`(?:coding agents?|official (?:clients?|apps?)|(?:\w+ ){1,2}(?:cli|code)\b)`,
	)},

	// A date or a plan: the long quota. A subscription's limit may name its end as a
	// wait; that makes it no rate.
	{class: onceward.ClassQuotaExhausted, strong: true, when: not(402, 413), any: []string{"specified api usage limits", "regain access on",
		"hit your usage limit", "reached your usage limit", "usage limit has been reached", "exceeded its usage limit", "exceeded your usage limit",
		"usage limit exceeded", "usage limits exceeded", "inference limit",
	}},
	{class: onceward.ClassQuotaExhausted, when: not(402, 413), any: []string{"quota_exhausted", "included free usage", "free usage limit",
		"session usage limit", "weekly usage limit", "monthly usage limit", "daily usage limit", "reached your specified", "usage limit reached",
		"out of call volume quota", "quota will be replenished", "exceeded your monthly", "monthly quota", "api calls / month", "calls per month",
		"tokens per month", "requests per month", "reached your quota", "quota has been exhausted", "free quota", "free allocation",
		"free tier of the model has been exhausted", "free allocated quota", "free-models-per-day", "upgrade for higher limits", "monthly limit",
		"weekly limit", "daily limit", "daily quota", "daily request limit", "daily token limit", "limit for this month", "extra usage is required",
		"out of extra usage", "使用上限", "次数限额",
	}, none: []string{"try again in", "context length"}},
	{class: onceward.ClassQuotaExhausted, when: is(429), any: []string{"-hour ", "-day ", " hour ", "weekly", "monthly"},
		none: []string{"try again in"}, re: either(
			`\b(?:\d+[- ](?:hour|day)|weekly|monthly) (?:\w+ )?(?:limit|quota)\b`,
		)},
	// Google lists the windows that are used up. The day's outlasts the minute's.
	{class: onceward.ClassQuotaExhausted, when: is(429), any: []string{"perday"}, none: []string{"try again in"}},
	{class: onceward.ClassQuotaExhausted, when: func(e *envelope) bool { return e.status == 429 || undecided(e) }, any: []string{"perday", "per_day",
		"per-day", "/ day", "per day",
	}, none: []string{"try again in", "perminute"}},
	// Google says "current quota" for every window; the window's name decides.
	{class: onceward.ClassQuotaExhausted, any: []string{"exceeded your current quota"}, re: either(`\blimit: 0\b`)},
	{class: onceward.ClassRateLimited, any: []string{"exceeded your current quota"}, re: either(`perminute`, `per minute`, `(?:please )?retry in \d`,
		`quota exceeded for metric`, `#(?:token|rate)-limit\b`,
	)},
	{class: onceward.ClassQuotaExhausted, codes: []string{"insufficient_quota", "quota_exceeded", "usage_limit_reached", "usage_limit_exceeded",
		"exceeded_current_quota_error", "ServiceQuotaExceededException", "quota_exhausted", "dailyLimitExceeded", "access_terminated_error",
		"SetLimitExceeded", "user_weekly_rate_limited", "user_monthly_rate_limited", "AllocationQuota.FreeTierOnly", "subscription_quota_exceeded",
		"monthly_limit_exceeded", "GoUsageLimitError", "FreeUsageLimitError",
	}, none: []string{"per minute", "try again in", "per second"}},
	{class: onceward.ClassQuotaExhausted, any: []string{"exceeded your current quota", "insufficient_quota", "insufficient quota", "quota exhausted",
		"quota has been exceeded", "current token quota",
	}},

	{class: onceward.ClassRegionBlocked, when: not(429), codes: []string{"API_KEY_IP_ADDRESS_BLOCKED", "ip_not_authorized", "ip_not_allowed"}, any: []string{
		"ip not authorized", "ip allowlist", "ip address is not", "ip is not allowed", "ip not allowed", "not in the allowlist", "ip_not_authorized",
		"blocked by ip", "ip address has been blocked", "ip whitelist", "ip access list",
	}},
	{class: onceward.ClassRegionBlocked, when: is(400, 401, 403), any: []string{"ip address", "ip acl", "source ip", "client ip"}, re: either(
		`\bip(?: address)?(?:es)?\b[^\n]{0,60}\b(?:blocked|denied|restriction|not (?:allowed|permitted|authorized|in)|acl)\b`,
	)},

	{class: onceward.ClassPermission, over: []override{effect(onceward.EffectDeploymentDown), scope(onceward.ScopeDeployment)}, any: []string{
		"must be verified to", "organization must be verified", "verify your organization",
	}},
	{class: onceward.ClassPermission, codes: []string{"missing_scope", "insufficient_scope", "insufficient_permissions", "IAM_PERMISSION_DENIED",
		"ACCESS_TOKEN_SCOPE_INSUFFICIENT", "organization_restricted", "SERVICE_DISABLED", "API_KEY_SERVICE_BLOCKED", "accessNotConfigured",
		"CONSUMER_SUSPENDED", "account_suspended", "organization_disabled", "project_archived", "organization_archived", "FEATURE_DISABLED",
	}},
	{class: onceward.ClassPermission, strong: true, any: []string{"insufficient permissions", "missing scope", "meet scope requirement", "not authorized to",
		"operation not allowed", "lacks the required", "insufficient authentication scopes", "insufficient scope", "has not been used in project",
		"it is disabled. enable it by", "organization has been restricted", "organization has been disabled", "account has been disabled",
		"account has been suspended", "account is suspended", "does not have the required permission", "does not have permission to",
		"don't have permission to", "you are not allowed to", "no longer has access", "denied on resource",
	}, none: []string{"access to the model", "access to model", "this model"}},

	{class: onceward.ClassAuthentication, when: not(403, 429), codes: []string{"invalid_api_key", "API_KEY_INVALID", "authentication_error",
		"UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "ExpiredToken", "invalid_token", "token_expired", "unauthorized",
		"UNAUTHENTICATED", "MissingAuthenticationTokenException", "IncompleteSignature", "InvalidClientTokenId", "SignatureDoesNotMatch", "no_api_key",
		"missing_api_key", "invalid_client", "invalid_grant", "invalid_authentication", "invalid_authentication_error", "invalid_issuer", "token_revoked",
		"account_deactivated", "invalid_request_key", "token_not_found_in_db", "expired_key", "auth_error", "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING",
		"ACCESS_TOKEN_TYPE_UNSUPPORTED", "invalidauthenticationtoken", "mismatched_organization", "invalid_organization", "incorrect_api_key_error",
	}},
	{class: onceward.ClassAuthentication, codes: []string{"UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "ExpiredToken",
		"MissingAuthenticationTokenException", "SignatureDoesNotMatch", "invalid_api_key", "InvalidClientTokenId", "authentication_error",
	}},
	{class: onceward.ClassAuthentication, strong: true, when: not(429), any: []string{"incorrect api key", "api key not valid", "api key is invalid",
		"api key expired", "api key has expired", "api key not found", "invalid api token", "invalid x-api-key", "no api key", "api key required",
		"api key is required", "missing api key", "not provided an api key", "provide an api key", "valid api key", "authentication fails",
		"authentication failed", "authentication failure", "invalid authentication", "missing authentication", "no auth credentials",
		"security token included in the request is", "request signature we calculated does not match", "invalid bearer", "bearer token",
		"invalid subscription key", "access denied due to invalid", "access denied due to missing", "oauth token", "token has expired", "token is expired",
		"token expired", "expired token", "token has been invalidated", "token revoked", "has been revoked", "invalid credentials", "invalid_api_key",
		"unauthorized: ", "invalid proxy server token", "authentication error", "user not found", "无效的令牌", "unable to locate credentials",
		"could not load credentials", "credentials could not be", "could not resolve authentication", "default credentials",
		"missing or invalid authorization", "authorization header", "expected oauth 2 access token", "account has been deactivated",
		"account associated with this api key has been", "refresh token", "login required", "key is disabled", "api key disabled",
		"api key has been disabled", "malformed api key", "wrong api key", "invalid access token", "access token invalid", "api_key is not set",
		"api key is not set", "invalid token", "invalid jwt", "jwt expired", "unable to authenticate", "invalid key", "key was reported as leaked",
		"invalid username or password", "member of an organization to use", "unregistered callers", "key is currently blocked", "api key is blocked",
		"api key has been blocked", "token could not be validated", "provided in token does not match", "login fail", "not authenticated",
	}, none: []string{"internal server error", "unexpected token", "in json at position", "invalid token count", "not valid json"}},
	// A credential that is known and yet may not, said with the status of one that is not.
	{class: onceward.ClassPermission, when: is(401), codes: []string{"PermissionDenied"}, any: []string{"does not have access to api"}},
}
