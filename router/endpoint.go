package router

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// azureHosts are where Azure serves models, in its clouds.
var azureHosts = []string{
	".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com",
	".openai.azure.us", ".services.ai.azure.us", ".cognitiveservices.azure.us",
	".openai.azure.cn", ".services.ai.azure.cn", ".cognitiveservices.azure.cn",
}

// appended are what a request or its documentation puts after the base URL, and
// what people paste with it. The longest come first.
var appended = []string{
	"/chat/completions", "/completions", "/responses/compact", "/responses/input_tokens", "/responses", "/models", "/embeddings",
	"/messages", "/conversations", "/api/chat", "/api/generate",
}

// placeholder are characters of an example that nobody filled in, and of no URL.
const placeholder = "<>{}|\\^`\""

// RequestURL is what requests to the resource are posted to.
func (r Resource) RequestURL() string {
	return strings.TrimSuffix(r.BaseURL, "/") + "/" + protocolOf(r).path()
}

// CheckEndpoint refuses a base URL at which the resource cannot answer: where
// every request would be a 404, no run finds out why. The hosts of Azure and
// OpenAI have one right form, which the error names; what a proxy or a gateway of
// one's own is like nobody knows, but it too ends before what the API appends.
// The error repeats nothing of the URL.
func (r Resource) CheckEndpoint() error {
	base, err := url.Parse(r.BaseURL)
	if r.BaseURL == "" {
		return errors.New("is required, such as " + r.rightForm())
	}
	switch {
	case err != nil:
		return errors.New("is not a URL; want " + r.rightForm()) // the parser's own text repeats what may hold a password
	case base.User != nil:
		return errors.New("holds a user or password; name the credential in api_key_env or api_key_file")
	case base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "":
		return errors.New("is not an absolute http or https URL with a host; want " + r.rightForm())
	case base.Query().Has("api-version"):
		return errors.New("has an api-version, which the v1 API does without; want " + r.rightForm())
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return errors.New("holds a query or fragment, which would be lost; give only the path")
	}
	if err := spelled(r.BaseURL, base); err != nil {
		return err
	}
	host := strings.ToLower(strings.TrimSuffix(base.Hostname(), "."))
	path := "/" + strings.Trim(base.EscapedPath(), "/")
	for _, suffix := range azureHosts {
		if host == suffix[1:] {
			return errors.New("names no resource of Azure; want https://<resource>" + suffix + "/openai/v1/")
		}
		if strings.HasSuffix(host, suffix) {
			return azurePath(base, path, suffix)
		}
	}
	if host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") {
		want := "https://api.openai.com/v1/"
		switch {
		case r.Kind == KindAzure:
			return errors.New("is OpenAI's, which reads no key of kind azure; want kind openai, or https://<resource>.openai.azure.com/openai/v1/")
		case base.Scheme != "https" || path != "/v1" || !standardPort(base):
			return errors.New("is not where OpenAI answers; want " + want)
		}
		return nil
	}
	for _, ending := range appended {
		if strings.HasSuffix(strings.ToLower(path), ending) {
			return fmt.Errorf("ends in %s; a base URL ends before it: %s is appended to every request", ending, protocolOf(r).path())
		}
	}
	if strings.Contains(strings.ToLower(path), "/openai/deployments") {
		return errors.New("is of the API by deployment, which the v1 API replaces; want a path that ends in /openai/v1/")
	}
	return nil
}

// spelled refuses what a URL can be parsed with and no host answers to: what is
// pasted from a page without being seen, an example that nobody filled in, a slash
// or a dot too many, a port that there is not. The final URL is made by appending to
// the text as it is, so that nothing of this goes away by itself.
func spelled(raw string, base *url.URL) error {
	if err := checkValue(raw, false); err != nil {
		what, _, _ := strings.Cut(err.Error(), ";")
		return errors.New(what + "; a URL is of printable ASCII")
	}
	port := 443
	if base.Port() != "" {
		port, _ = strconv.Atoi(base.Port()) // digits, by the parser
	}
	segments := strings.Split(strings.ToLower(strings.Trim(base.EscapedPath(), "/")), "/")
	dots := func(segment string) bool { return strings.Trim(strings.ReplaceAll(segment, "%2e", "."), ".") == "" }
	switch host := base.Hostname(); {
	case strings.ContainsAny(raw, placeholder):
		return errors.New("has a character that no URL has, such as < and > around a name to be filled in")
	case strings.HasPrefix(host, ".") || strings.Contains(host, ".."):
		return errors.New("has a host with an empty name between its dots")
	case port < 1 || port > 65535 || strings.HasSuffix(base.Host, ":"):
		return errors.New("has a port that is none of 1 to 65535")
	case strings.Contains(base.EscapedPath(), "//"):
		return errors.New("has an empty part between two slashes of its path; keep one slash")
	case len(segments) > 1 && slices.ContainsFunc(segments, dots), segments[0] != "" && dots(segments[0]):
		return errors.New("has a part of its path that is . or ..; give the path itself")
	}
	return nil
}

// standardPort reports whether a URL names the port of https, or none.
func standardPort(base *url.URL) bool { return base.Port() == "" || base.Port() == "443" }

// azurePath checks the path of a host of Azure's own.
func azurePath(base *url.URL, path, suffix string) error {
	scheme := base.Scheme
	if !standardPort(base) {
		scheme = "" // nothing listens there
	}
	path = strings.ToLower(path)
	if strings.HasPrefix(suffix, ".services.ai.") { // a project of the resource has a path of its own
		if project, ok := strings.CutPrefix(path, "/api/projects/"); ok {
			if _, rest, found := strings.Cut(project, "/"); found && scheme == "https" && rest == "openai/v1" && !strings.HasPrefix(project, "/") {
				return nil
			}
			return errors.New("is not where Azure answers; want https://<resource>" + suffix + "/api/projects/<project>/openai/v1/")
		}
	}
	if scheme != "https" || path != "/openai/v1" {
		return errors.New("is not where Azure answers; want https://<resource>" + suffix + "/openai/v1/")
	}
	return nil
}

// rightForm is what a base URL of the kind is like.
func (r Resource) rightForm() string {
	switch r.Kind {
	case KindAzure:
		return "https://<resource>.openai.azure.com/openai/v1/"
	case KindOpenAI:
		return "https://api.openai.com/v1/"
	default:
		return "https://<host>/v1/"
	}
}
