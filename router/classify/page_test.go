package classify

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"testing"
	"unicode/utf16"

	"github.com/onceward/onceward"
)

// zipped is a text as a proxy sends it that compresses without being asked.
func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// wide is a text in UTF-16, with its mark.
func wide(text string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// pagesOf are pages of servers in front with a status.
func pagesOf(status int) map[string]Input {
	name := fmt.Sprintf("%d %s", status, http.StatusText(status))
	nginx := "<html>\r\n<head><title>" + name + "</title></head>\r\n<body>\r\n<center><h1>" + name + "</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
	html := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	in := func(body string, h http.Header) Input { return Input{Status: status, Header: h, Body: []byte(body)} }
	return map[string]Input{
		"nginx":              in(nginx, html),
		"no content type":    in(nginx, nil),
		"as JSON's type":     in(nginx, http.Header{"Content-Type": {"application/json"}}),
		"mark and blanks":    in("\xef\xbb\xbf \n\n"+nginx, html),
		"comment first":      in("<!-- generated at 12:00 -->\n"+nginx, html),
		"xhtml":              in(`<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html xmlns="http://www.w3.org/1999/xhtml"><body>`+name+"</body></html>", nil),
		"capitals":           in("<HTML><BODY><H1>"+name+"</H1></BODY></HTML>", nil),
		"a line before":      in("Error from the gateway\n"+nginx, nil),
		"words as html":      in(name, html),
		"a division":         in(`<div class="error">`+name+"</div>", nil),
		"a script":           in("<script>location.href='/login'</script>", nil),
		"a refresh":          in(`<meta http-equiv="refresh" content="0;url=/login">`, nil),
		"compressed":         in(zipped(nginx), http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"application/json"}}),
		"UTF-16":             in(wide(nginx), nil),
		"a policy in UTF-16": in(wide("<html><body>Request rejected: content policy, maximum context length</body></html>"), nil),
		"a policy's words":   in("<html><body>Request rejected: policy violation, invalid content filter, the maximum context length is 8 tokens</body></html>", html),
		"inside a gateway's": in(fmt.Sprintf(`{"error":{"message":%q,"code":%d}}`, nginx, status), http.Header{"Content-Type": {"application/json"}}),
	}
}

func TestPageInsteadOfAnAnswerSaysNothingAboutTheRequest(t *testing.T) {
	want := map[int]onceward.Class{
		401: onceward.ClassAuthentication, 402: onceward.ClassBilling, 403: onceward.ClassPermission, 404: onceward.ClassEndpointMisconfigured,
		407: onceward.ClassRegionBlocked, 408: onceward.ClassTimeout, 413: onceward.ClassRequestTooLarge, 414: onceward.ClassRequestTooLarge,
		429: onceward.ClassRateLimited, 431: onceward.ClassRequestTooLarge,
	}
	for _, status := range []int{400, 405, 406, 409, 410, 411, 412, 415, 416, 417, 418, 421, 422, 423, 426, 428, 451, 495, 496, 497, 499} {
		want[status] = onceward.ClassEndpointMisconfigured
	}
	for status, class := range want {
		for name, in := range pagesOf(status) {
			if f := Classify(in); f.Class != class || !f.FallbackEligible {
				t.Errorf("E02 %d %s: %s fallback %v, want %s and the walk to go on", status, name, f.Class, f.FallbackEligible, class)
			}
		}
	}
}

func TestWordsOfAServerInFront(t *testing.T) {
	for body, want := range map[string]onceward.Class{
		"<HTML><HEAD><TITLE>Bad Request</TITLE></HEAD><BODY><h2>Bad Request - Invalid Hostname</h2><hr><p>HTTP Error 400. The request hostname is invalid.</p></BODY></HTML>": onceward.ClassEndpointMisconfigured,
		"Bad Request - Invalid Hostname": onceward.ClassEndpointMisconfigured,
		"<html><head><title>400 No required SSL certificate was sent</title></head></html>":                         onceward.ClassEndpointMisconfigured,
		"No required SSL certificate was sent":                                                                      onceward.ClassEndpointMisconfigured,
		"The requested URL was rejected. Please consult with your administrator.\n\nYour support ID is: 1234567890": onceward.ClassEndpointMisconfigured,
		"Request blocked by the web application firewall. Incident ID: 7":                                           onceward.ClassEndpointMisconfigured,
		"<html><head><title>400 Request Header Or Cookie Too Large</title></head></html>":                           onceward.ClassRequestTooLarge,
	} {
		if f := Classify(Input{Status: 400, Body: []byte(body)}); f.Class != want || !f.FallbackEligible {
			t.Errorf("E02 %s: %s fallback %v, want %s", body, f.Class, f.FallbackEligible, want)
		}
	}
	for name, c := range map[string]struct {
		in   Input
		want onceward.Class
	}{
		"a page in a 200":            {Input{Status: 200, Body: []byte("<html><body>Sign in</body></html>")}, onceward.ClassEndpointMisconfigured},
		"any mark-up in a 200":       {Input{Status: 200, Body: []byte("<app-root></app-root>")}, onceward.ClassEndpointMisconfigured},
		"a store's XML in a 200":     {Input{Status: 200, Body: []byte(`<?xml version="1.0"?><ListAllMyBucketsResult/>`)}, onceward.ClassEndpointMisconfigured},
		"a login page's words":       {Input{Status: 200, Body: []byte("<html><body>Session over: invalid credentials, please log in</body></html>")}, onceward.ClassEndpointMisconfigured},
		"a health check":             {Input{Status: 200, Body: []byte(`{"status":"ok"}`)}, onceward.ClassEndpointMisconfigured},
		"another health check":       {Input{Status: 200, Body: []byte("OK\n")}, onceward.ClassEndpointMisconfigured},
		"a service that greets":      {Input{Status: 200, Body: []byte(`{"message":"Welcome to the service!"}`)}, onceward.ClassEndpointMisconfigured},
		"a server that is running":   {Input{Status: 200, Body: []byte("The server is running")}, onceward.ClassEndpointMisconfigured},
		"a list of models":           {Input{Status: 200, Body: []byte(`{"object":"list","data":[{"id":"m"}]}`)}, onceward.ClassEndpointMisconfigured},
		"a model's ok is an answer":  {Input{Status: 200, Body: []byte(`{"output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}`)}, onceward.ClassInvalidOutput},
		"other JSON in a 200":        {Input{Status: 200, Body: []byte(`{"action":"proceed"}`)}, onceward.ClassInvalidOutput},
		"a gateway without a route":  {Input{Status: 403, Body: []byte(`{"message":"Missing Authentication Token"}`), Header: http.Header{"X-Amzn-Errortype": {"MissingAuthenticationTokenException"}}}, onceward.ClassEndpointMisconfigured},
		"a deployment of a platform": {Input{Status: 404, Body: []byte("The deployment could not be found on this platform.\n\nDEPLOYMENT_NOT_FOUND")}, onceward.ClassEndpointMisconfigured},
		"a proxy's page of a 502":    {Input{Status: 502, Body: []byte("<html><body>Invalid URL: you don't have permission to access it, method not allowed</body></html>")}, onceward.ClassServerError},
		"a framework's name of it":   {Input{Status: 400, Body: []byte(`{"statusCode":400,"message":"Bad Request","error":"Bad Request"}`)}, onceward.ClassEndpointMisconfigured},
		"another framework's":        {Input{Status: 400, Body: []byte(`{"timestamp":"2026-01-02T03:04:05","status":400,"error":"Bad Request","path":"/v1/responses"}`)}, onceward.ClassEndpointMisconfigured},
		"an empty 415":               {Input{Status: 415}, onceward.ClassEndpointMisconfigured},
		"a page in a stream":         {Input{Transport: SSE, Status: 200, Body: []byte("data: <html><body>Sign in</body></html>\n\n")}, onceward.ClassEndpointMisconfigured},
		"a store's XML is no page":   {Input{Status: 403, Body: []byte(`<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code><Message>The request signature we calculated does not match</Message></Error>`)}, onceward.ClassAuthentication},
		"a store's XML, throttled":   {Input{Status: 503, Body: []byte(`<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)}, onceward.ClassOverloaded},
		"a store's XML, unknown":     {Input{Status: 400, Body: []byte(`<?xml version="1.0"?><Error><Code>InvalidURI</Code><Message>no</Message></Error>`)}, onceward.ClassEndpointMisconfigured},
		"a SOAP fault":               {Input{Status: 415, Body: []byte(`<soap:Envelope xmlns:soap="x"><soap:Body><soap:Fault/></soap:Body></soap:Envelope>`)}, onceward.ClassEndpointMisconfigured},
		"a firewall's plain words":   {Input{Status: 406, Body: []byte("Not Acceptable! An appropriate representation of the requested resource could not be found on this server. This error was generated by Mod_Security.")}, onceward.ClassEndpointMisconfigured},
		"the name of the status":     {Input{Status: 400, Body: []byte("400 Bad Request\n")}, onceward.ClassEndpointMisconfigured},
		"the name of it in JSON":     {Input{Status: 400, Body: []byte(`{"message":"Bad Request"}`)}, onceward.ClassEndpointMisconfigured},
		"the name of a media type's": {Input{Status: 415, Body: []byte("Unsupported Media Type")}, onceward.ClassEndpointMisconfigured},
		"the name with a code":       {Input{Status: 400, Body: []byte(`{"error":{"message":"Bad Request","type":"invalid_request_error"}}`)}, onceward.ClassInvalidRequest},
		"the name of a conflict":     {Input{Status: 409, Body: []byte("Conflict")}, onceward.ClassStateConflict},
		"JSON in UTF-16":             {Input{Status: 400, Body: []byte(wide(`{"error":{"message":"Unknown parameter: 'x'.","code":"unknown_parameter"}}`))}, onceward.ClassUnsupportedCapability},
		"a compressed 500":           {Input{Status: 500, Body: []byte(zipped("<html></html>"))}, onceward.ClassServerError},
		"a compressed 200":           {Input{Status: 200, Body: []byte(zipped(`{"output":[]}`))}, onceward.ClassEndpointMisconfigured},
		"an empty 400":               {Input{Status: 400}, onceward.ClassUnknown},
		"a value that is mark-up":    {Input{Status: 400, Body: []byte(`{"error":{"message":"Invalid value: '<html><body>x</body></html>'. Supported values are: 'a'.","code":"invalid_value"}}`)}, onceward.ClassInvalidRequest},
		"plain words of a validator": {Input{Status: 400, Body: []byte("Failed to deserialize the JSON body into the target type: missing field `model`")}, onceward.ClassInvalidRequest},
	} {
		if f := Classify(c.in); f.Class != c.want {
			t.Errorf("E02 %s: %s, want %s", name, f.Class, c.want)
		}
	}
}
