package classify

import (
	"github.com/onceward/onceward"
)

// gatewayRules come before the model's: a gateway with nothing behind it calls
// that a missing model as well.
var gatewayRules = []rule{
	{class: onceward.ClassGatewayExhausted, strong: true, codes: []string{"hard_affinity_saturated", "no_available_channel", "no_deployments_available",
		"no_available_accounts", "no_available_provider", "no_provider_available", "all_providers_failed", "no_healthy_upstream", "no_accounts",
		"pool_exhausted", "no_available_account", "no_upstream_available", "account_pool_exhausted", "no_available_candidate", "auth_unavailable",
	}, any: []string{"no deployments available", "no healthy upstream", "no available channel", "no available account", "no available provider",
		"no available model provider", "no providers available", "all providers failed", "no healthy deployment", "no accounts available", "all accounts are",
		"all accounts for", "all deployments are", "no live upstreams", "reset reason: overflow", "无可用渠道", "no instances available", "no upstream available",
		"all upstreams", "no backend available", "no healthy backend", "all available accounts exhausted", "no active accounts", "all keys are",
		"no provider available", "provider list exhausted", "all channels", "all fallbacks failed", "upstream pool",
		"no server is available to handle this request", "from the ring-balancer", "no auth available",
	}},
	{class: onceward.ClassGatewayExhausted, strong: true, any: []string{"no available", "no healthy", "no usable", "no eligible", "no live"}, re: either(
		`\bno (?:available|healthy|usable|eligible|live) (?:upstream|channel|account|provider|candidate|backend|deployment|server|peer|instance)s?\b`,
	)},
	// A model that will be back is no model that is missing.
	{class: onceward.ClassOverloaded, strong: true, when: is(429, 500, 502, 503), any: []string{"try again", "retry later", "稍后"}, re: either(
		`model(?: \S+)? is (?:currently |temporarily )?(?:unavailable|not available)`,
	)},
}

// loadRules tell "you ask too much" (a window) from "we have no room" (health).
var loadRules = []rule{
	// Shared capacity upstream of a reseller is not our rate.
	{class: onceward.ClassOverloaded, strong: true, codes: []string{"overloaded_error", "server_is_overloaded", "engine_overloaded_error",
		"engine_overloaded", "model_overloaded", "MODEL_CAPACITY_EXHAUSTED", "service_tier_capacity_exceeded", "upstream_provider_shared_pool",
		"capacity_exceeded", "ModelNotReadyException", "DeploymentNotReady", "NoCapacity", "server_overloaded", "insufficient_capacity", "overloaded",
		"system_busy", "system_cpu_overloaded", "system_memory_overloaded", "ServiceUnavailableException", "resource_unavailable", "server_busy", "3505",
		"model_at_capacity", "capacity_error", "ModelServingOverloaded", "provider_overloaded",
	}},
	{class: onceward.ClassOverloaded, strong: true, any: []string{"at capacity", "capacity exceeded", "no capacity", "insufficient capacity", "over capacity",
		"exceeded capacity", "capacity constraints", "not enough capacity", "out of capacity", "experiencing high demand", "experiencing high load",
		"experiencing heavy load", "high traffic", "heavy traffic", "peak load", "too busy", "server busy", "server is busy", "model busy", "model is busy",
		"deployment is not ready", "model is not ready", "endpoint is not ready", "service is busy", "system is busy", "service busy", "is currently loading",
		"loading model", "model is loading", "model loading", "not ready for inference", "rate-limited upstream", "rate limited upstream", "负载",
		"maximum pending requests exceeded", "queue is full", "queue full", "reached its capacity", "currently unavailable due to high", "limited capacity",
		"capacity limit", "capacity reached", "under heavy", "high concurrency", "unable to process your request due to", "scaling up", "cold start",
		"upstream saturated", "degraded function", "overload", "访问量过大", "系统繁忙",
	}, none: []string{"rate limit reached", "retry with a lower rate", "connection pool"}},
	{class: onceward.ClassOverloaded, strong: true, any: []string{"capacity"}, none: []string{"rate limit"}, re: either(
		`\bcapacity\b[^.\n]{0,30} (?:exceeded|exhausted|reached|full|unavailable)`,
	)},
	{class: onceward.ClassOverloaded, when: func(e *envelope) bool { return e.status == 503 || e.status == 200 && e.typ != "error" }, codes: []string{
		"slow_down",
	}},
	{class: onceward.ClassOverloaded, when: is(529, 498)},
	// A server whose model process died may call that a bad request.
	{class: onceward.ClassServerError, strong: true, any: []string{"model has crashed", "process has terminated", "has unexpectedly stopped"}},

	{class: onceward.ClassRateLimited, strong: true, codes: []string{"rate_limit_exceeded", "rate_limit_error", "ThrottlingException",
		"TooManyRequestsException", "too_many_requests", "too_many_requests_error", "slow_down", "rpm_rate_limit_exceeded", "tpm_rate_limit_exceeded",
		"rate_limit_reached", "rate_limit_reached_error", "Throttling", "Throttling.RateQuota", "Throttling.AllocationQuota", "request_quota_exceeded",
		"token_quota_exceeded", "rate_limited", "RESOURCE_EXHAUSTED", "userRateLimitExceeded", "1302", "1305", "LimitRequests", "limit_burst_rate",
		"concurrency_limit_exceeded", "tokens_limit_reached", "too_many_concurrent_requests", "RequestLimitExceeded", "requests_per_minute", "rate_limit",
		"policies.ratelimit.QuotaViolation", "policies.ratelimit.SpikeArrestViolation", "model_cooldown",
	}},
	{class: onceward.ClassRateLimited, strong: true, any: []string{"rate limit", "rate-limit", "ratelimit", "too many requests", "throttlingexception",
		"throttled", "requests per second", "tokens per min", "requests per min", "per-minute", "too many concurrent", "concurrency limit",
		"lower your concurrency", "reduce your concurrency", "concurrent requests", "request limit exceeded", "requests limit exceeded", "limited to",
		"slow down", "429 too many", "resource has been exhausted", "resource exhausted", "toomanyrequests", "resourceexhausted",
		"request rate increased too quickly", "exceeded the rate", "请求过于频繁", "error code: 1015", "error 1015", "quota exceeded for",
		"number of requests has exceeded", "retry your request after", "exceeded token rate", "exceeded call rate", "cooling down", "calls per minute",
		"request limit reached",
	}, when: func(e *envelope) bool {
		return e.status != 402 && (e.status < 500 || e.status == 503) || e.statusInBody == 429
	}},
}
