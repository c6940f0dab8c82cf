package classify

import (
	"github.com/onceward/onceward"
)

// placeRules are about where the request came from and where it went.
var placeRules = []rule{
	{class: onceward.ClassRegionBlocked, strong: true, codes: []string{"unsupported_country_region_territory", "region_not_supported", "unsupported_region",
		"request_not_allowed_region", "geo_blocked",
	}, any: []string{"virtual network/firewall rules", "location is not supported", "country, region, or territory not supported",
		"not available in your country", "not available in your region", "not supported in your country", "not supported in your region",
		"unsupported country", "unsupported region", "region is not supported", "country is not supported", "not accessible in your",
		"public access is disabled", "public network access is disabled", "private endpoint", "vpc service controls", "vpc-sc",
		"organization's policy. vpcservicecontrols", "not available in this country", "not available in this region", "access from your location",
		"error code: 1009", "error 1009", "banned the country", "from unsupported countries", "restricted region", "not allowed in your region",
		"not available to customers in", "access from your country",
	}},
	{class: onceward.ClassRegionBlocked, strong: true, when: is(403, 503, 401), any: []string{"sorry, you have been blocked",
		"attention required! | cloudflare", "just a moment...", "error code: 1020", "error 1020", "error code: 1010", "error 1010", "error code: 1006",
		"error code: 1007", "enable javascript and cookies to continue", "cf-browser-verification", "access denied | ", "please check your network settings",
		"unable to load site", "access control configuration prevents", "blocked by network policy", "web application firewall", "request blocked",
	}},
	{class: onceward.ClassEndpointMisconfigured, strong: true, codes: []string{"unsupported_api_version", "InvalidApiVersionParameter", "unknown_url",
		"method_not_allowed", "invalid_url", "unknown_endpoint", "data_residency_mismatch", "route_not_found", "endpoint_not_found", "not_found_route",
	}, any: []string{"api version not supported", "api version is not supported", "unsupported api version", "api-version", "use the correct endpoint",
		"a virtual network is configured for this resource", "origin must match the configured base url", "resource not found", "unknown request url",
		"unrecognized request url", "404 page not found", "cannot post /", "no static resource", "method not allowed", "unexpected endpoint or method",
		"unsupported protocol scheme", "http response to https client", "http request to an https server", "plain http request was sent to https port",
		"x509:", "certificate_verify_failed", "certificate verify failed", "self signed certificate", "self-signed certificate",
		"unable to verify the first certificate", "unable to get local issuer", "certificate has expired", "cert_has_expired", "altname_invalid",
		"hostname/ip does not match certificate", "hostname mismatch", "certificate is not valid for", "malformed http response", "wrong version number",
		"invalid url", "missing protocol", "no route matched", "default backend - 404", "not a valid endpoint", "stopped after 10 redirects",
		"too many redirects", "err_invalid_url", "no host in request url", "invalid port", "certificate is not trusted", "unknown issuer",
		"the requested url was not found", "no such route", "pkix path", "valid certification path", "remote certificate is invalid", "untrusted root",
		"cert_authority_invalid", "invalid peer certificate", "unknownissuer",
	}, none: []string{"image", "file_url", "downloading", "failed to download", "unable to fetch"}},
	// It is the address that was given up, not a model.
	{class: onceward.ClassEndpointMisconfigured, when: between(300, 499), any: []string{"no longer", "moved", "deprecated", "retired", "discontinued",
		"shut down",
	}, re: either(`https?://\S+ (?:is|was|has|api)\b[^.\n]{0,30}(?:no longer|moved|deprecated|retired|discontinued|shut down)`)},
	{class: onceward.ClassEndpointMisconfigured, codes: []string{"UnknownOperationException", "NoSuchOperation", "OperationNotFound", "ResourceNotFound404"}},
	{class: onceward.ClassEndpointMisconfigured, any: []string{"api version"}, re: either(`api version:? '?[\w.\-]+'? is not supported`)},
	// A page where JSON was due: a portal, a login, a maintenance notice.
	{class: onceward.ClassEndpointMisconfigured, when: func(e *envelope) bool { return e.page && e.status >= 200 && e.status < 400 }},
}
