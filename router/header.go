package router

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/onceward/onceward/router/redact"
)

// Header is a header that every request to a resource carries, those of tests
// and probes included. Its value is Value, which may be seen, or Secret, which is
// kept as a key is. The zero value is refused.
type Header struct {
	Name   string
	Value  string
	Secret Secret
}

// maxHeaders bounds the headers of a resource.
const maxHeaders = 32

// reserved are headers that are not the user's: credentials have keys of their
// own, the rest would break the request or its answer.
var reserved = map[string]string{
	"Authorization": "the credential is named in api_key_env or api_key_file",
	"Api-Key":       "the credential is named in api_key_env or api_key_file",
	"Host":          "it comes from base_url",

	"Accept": "answers are read in one form only", "Accept-Charset": "answers are read in one form only",
	"Accept-Encoding": "answers are read in one form only", "Range": "answers are read in one form only",

	"Connection": "it is about one connection", "Keep-Alive": "it is about one connection", "Proxy-Connection": "it is about one connection",
	"Te": "it is about one connection", "Trailer": "it is about one connection", "Transfer-Encoding": "it is about one connection",
	"Upgrade": "it is about one connection", "Http2-Settings": "it is about one connection", "Expect": "it is about one connection",
	"Proxy-Authorization": "it is about one connection", "Proxy-Authenticate": "it is about one connection",

	"If-Match": "it is about what a host keeps", "If-None-Match": "it is about what a host keeps", "If-Modified-Since": "it is about what a host keeps",
	"If-Unmodified-Since": "it is about what a host keeps", "If-Range": "it is about what a host keeps", "Prefer": "answers are read in one form only",

	"X-Http-Method-Override": "it changes what a request is", "X-Http-Method": "it changes what a request is", "X-Method-Override": "it changes what a request is",
	"X-Original-Url": "it changes what a request is", "X-Rewrite-Url": "it changes what a request is",

	"Idempotency-Key": "net/http sends a request with it twice by itself", "X-Idempotency-Key": "net/http sends a request with it twice by itself",
}

// CheckHeaders tells refuse of each header that cannot be sent, by its index, and
// why, as Check does.
func CheckHeaders(headers []Header, refuse func(i int, err error)) {
	seen := map[string]bool{}
	for i, h := range headers {
		name := http.CanonicalHeaderKey(h.Name)
		switch err := h.Check(); {
		case i >= maxHeaders:
			refuse(i, fmt.Errorf("name: there are more than %d headers", maxHeaders))
			return
		case err != nil:
			refuse(i, err)
		case seen[name]:
			refuse(i, errors.New("name: has a value already; upper and lower case are the same"))
		}
		seen[name] = true
	}
}

// Check refuses a header that cannot be sent, or must not be. The error begins
// with the key that is wrong and repeats neither name nor value.
func (h Header) Check() error {
	name := http.CanonicalHeaderKey(h.Name)
	switch why, taken := reserved[name]; {
	case h.Name == "":
		return errors.New("name: is required")
	case len(h.Name) > 128 || strings.ContainsFunc(h.Name, notToken):
		return errors.New("name: is not the name of a header: letters, digits and -, at most 128")
	case taken:
		return errors.New("name: this header is not yours to set: " + why)
	case strings.HasPrefix(name, "Content-"):
		return errors.New("name: this header is not yours to set: it describes the body")
	case strings.HasPrefix(name, "X-Onceward-"):
		return errors.New("name: names that begin with X-Onceward- are reserved")
	case h.Value != "" && h.Secret != "":
		return errors.New("value: is given twice; keep one")
	}
	if h.Secret != "" {
		if err := checkValue(string(h.Secret), true); err != nil {
			return fmt.Errorf("value: %w", err)
		}
		if quoted(string(h.Secret)) {
			return errors.New("value: stands in quotes, which would be sent with it; leave them out")
		}
		return nil
	}
	if err := checkValue(h.Value, true); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if redact.CredentialName(name) || redact.LooksSecret(h.Value) {
		return errors.New("value: looks like a credential, which does not belong in a file; name it in value_env or value_file")
	}
	return nil
}

// notToken reports what a header's name cannot have (RFC 9110, 5.6.2).
func notToken(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
}
