package classify

import (
	"errors"
	"net/http"
	"testing"

	"github.com/onceward/onceward"
)

// What stands on our own way out is this worker's affair: an account that one
// worker's proxy will not let through serves all others.
func TestRefusalsOfOurOwnProxyAreOfThisWayOutOnly(t *testing.T) {
	page := func(words string) []byte {
		return []byte("<!DOCTYPE html><html><head><title>" + words + "</title></head><body>Sorry, you do not have permission to use this site.</body></html>")
	}
	for name, in := range map[string]Input{
		"407":                   {Status: 407, Body: []byte("Proxy Authentication Required")},
		"407 empty":             {Status: 407},
		"407 page":              {Status: 407, Body: page("Authentication failed"), Header: http.Header{"Proxy-Authenticate": {"Basic"}}},
		"407 json":              {Status: 407, Body: []byte(`{"error":{"message":"invalid credentials"}}`)},
		"squid's header":        {Status: 403, Body: page("ERROR"), Header: http.Header{"X-Squid-Error": {"ERR_ACCESS_DENIED 0"}}},
		"squid's page":          {Status: 403, Body: page("ERROR: The requested URL could not be retrieved")},
		"company's page":        {Status: 403, Body: page("This website is blocked by your company policy")},
		"internet usage policy": {Status: 403, Body: page("Web Page Blocked: violates the Internet usage policy")},
		"portal":                {Status: 511, Body: page("Sign in")},
		"refused CONNECT":       {Transport: Connection, Err: errors.New(`Post "https://api.example.com/v1/responses": Forbidden`)},
		"CONNECT without login": {Transport: Connection, Err: errors.New(`Post "https://api.example.com/v1/responses": Proxy Authentication Required`)},
	} {
		f := Classify(in)
		if f.Scope != onceward.ScopeEgress || f.StateEffect != onceward.EffectDisable || !f.FallbackEligible {
			t.Errorf("%s: %s %s %s fallback %v, want egress, disabled here, and the walk to go on", name, f.Class, f.Scope, f.StateEffect, f.FallbackEligible)
		}
	}
	for name, in := range map[string]Input{
		"a key without rights":  {Status: 403, Body: []byte(`{"error":{"message":"You have insufficient permissions for this operation. Ask your network administrator."}}`)},
		"a product's name":      {Status: 403, Header: http.Header{"Server": {"squid/5.7"}}},
		"a bare 403":            {Status: 403, Header: http.Header{"Server": {"nginx"}}},
		"a login page's 403":    {Status: 403, Body: page("Forbidden")},
		"a key that is refused": {Status: 401, Body: []byte("invalid api key")},
	} {
		if f := Classify(in); f.Scope != onceward.ScopeAccount {
			t.Errorf("%s: %s %s, want the account's", name, f.Class, f.Scope)
		}
	}
}
