package routertest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

func TestE01FirewallRefusesOneMarker(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{}, routertest.Resource{Name: "A"}, routertest.Resource{Name: "B", API: routertest.APIChatCompletions})
	set(t, p, routertest.Page(403, "<html><body>Request blocked.</body></html>").Where(routertest.Match{Marker: "DROP TABLE"}))
	for _, s := range p.Resources() {
		url, body := s.URL()+"responses", func(text string) obj { return ask(user(text)) }
		if s.Name() == "B" {
			url, body = s.URL()+"chat/completions", func(text string) obj { return messages(user(text)) }
		}
		for _, wrap := range []func(obj) obj{streamed, func(o obj) obj { return o }} {
			g := postTo(t, url, wrap(body("DROP TABLE users")))
			if g.status != 403 || !strings.HasPrefix(g.header.Get("Content-Type"), "text/html") || g.body != "<html><body>Request blocked.</body></html>" {
				t.Errorf("%s: %+v", s.Name(), g)
			}
			if g := postTo(t, url, wrap(body("list the users"))); g.status != 200 {
				t.Errorf("%s: %+v", s.Name(), g)
			}
			if g := postTo(t, url, wrap(body("Reply with ok.")), neutral...); g.status != 200 {
				t.Errorf("%s, the neutral: %+v", s.Name(), g)
			}
		}
	}
}

func TestE02PagesAsNginxSendsThem(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{})
	for status, title := range map[int]string{
		400: "400 Bad Request", 403: "403 Forbidden", 409: "409 Conflict", 411: "411 Length Required", 412: "412 Precondition Failed", 415: "415 Unsupported Media Type",
		416: "416 Requested Range Not Satisfiable", 422: "422 Unprocessable Entity", 413: "413 Request Entity Too Large", 408: "408 Request Time-out",
		502: "502 Bad Gateway", 503: "503 Service Temporarily Unavailable", 504: "504 Gateway Time-out", 499: "499",
	} {
		f := routertest.Page(status, "")
		f.Header = map[string]string{"X-Cache": "miss"}
		set(t, p, f)
		g := post(t, p.Resource("A"), ask(user("hi")))
		want := fmt.Sprintf("<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n<center><h1>%s</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n", title, title)
		if g.status != status || g.body != want || g.header.Get("Server") != "nginx" || g.header.Get("X-Cache") != "miss" {
			t.Errorf("%d: %+v", status, g)
		}
		for key := range g.header {
			if k := strings.ToLower(key); strings.HasPrefix(k, "x-ratelimit") || strings.HasPrefix(k, "openai") || strings.HasPrefix(k, "apim") || k == "x-request-id" || k == "x-ms-region" {
				t.Errorf("%d: the page carries the API's header %s", status, key)
			}
		}
	}
	o := p.Requests()[0].Outcome
	if o.Fault != routertest.FaultHTML || o.Error == "" || o.Complete {
		t.Errorf("%+v", o)
	}
}
