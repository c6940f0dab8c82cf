package router

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// shapeless is a key that no rule about the look of keys can see.
const shapeless = "orchid-gateway-42-north"

// echoing is a router of two resources of kind compatible that share a gateway,
// the second with a credential in a header.
func echoing(t *testing.T, api string, handler http.HandlerFunc, change func(Change)) *Router {
	t.Helper()
	base := serve(t, handler).URL
	a, b := resource("a", base), resource("b", base)
	for _, r := range []*Resource{&a, &b} {
		r.Kind, r.API = KindCompatible, api
		r.Deployments[0].Capability.EncryptedReasoning = false
	}
	a.Key, b.Key = shapeless, "tulip-meadow-77-south"
	b.Headers = []Header{{Name: "X-Gateway-Auth", Secret: "Bearer rose-garden-13"}}
	return pool(t, Config{OnChange: change, Secrets: []Secret{"temporal-api-key-of-ours"}}, a, b)
}

// credentialsOfTheTest are what none of its answers may bring in.
var credentialsOfTheTest = []string{shapeless, "tulip-meadow-77-south", "rose-garden-13", "temporal-api-key-of-ours"}

// leaks says in which spelling a text gives a credential away, or nothing.
func leaks(text string) string {
	lower := strings.ToLower(text)
	for _, key := range credentialsOfTheTest {
		if strings.Contains(lower, key) {
			return "as it is"
		}
		for _, cut := range []string{key[:len(key)*4/5], key[len(key)/5:]} {
			if strings.Contains(lower, cut) {
				return "cut: " + cut
			}
		}
		for shift := range 3 {
			coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + key))
			if strings.Contains(text, coded[4:len(coded)-3]) {
				return "in base64"
			}
		}
	}
	return ""
}

// everything prints what a call brings into histories, logs and trails.
func everything(t *testing.T, r *Router, response onceward.ModelResponse, err error) string {
	t.Helper()
	var texts []string
	show := func(v any) {
		encoded, e := json.Marshal(v)
		if e != nil {
			t.Fatal(e)
		}
		texts = append(texts, string(encoded), fmt.Sprintf("%+v", v))
	}
	for _, item := range response.Items {
		texts = append(texts, string(item.Raw), item.ID)
	}
	response.Items = nil
	show(response)
	if err != nil {
		show(failed(t, err))
		texts = append(texts, err.Error())
	}
	show(r.Off())
	show(r.Health())
	show(r.Select(onceward.RouteRequest{RunKey: "wf/1", Models: []string{"m"}, Requirements: onceward.Requirements{OutputTokens: 10}}))
	return strings.Join(texts, "\n")
}

// echoes are the ways in which a host repeats what it was sent. KEY stands for a
// spelling of the key.
var echoes = map[string]http.HandlerFunc{
	"E21 a 401 names the consumer":    reply(401, "application/json", `{"error":{"message":"no such consumer 'KEY'","code":"KEY"}}`),
	"E21 a 503 of a gateway, in text": reply(503, "text/plain", "upstream refused consumer KEY"),
	"a page of HTML":                  reply(502, "text/html", "<html><body>consumer KEY is <b>gone</b></body></html>"),
	"a 400 with the key at its end":   reply(400, "application/json", `{"error":{"message":"`+strings.Repeat("word ", 95)+` KEY","type":"invalid_request_error"}}`),
	"a 429 with the key in param":     reply(429, "application/json", `{"error":{"message":"slow down","param":"KEY","request_id":"KEY"},"request_id":"KEY"}`),
	"a 200 that is an error":          reply(200, "application/json", `{"error":{"message":"consumer KEY is unknown"}}`),
	"an error event of a stream":      stream(`{"type":"error","code":"KEY","message":"consumer KEY is unknown"}`),
	"a failed response":               stream(evCreated, `{"type":"response.failed","response":{"id":"KEY","status":"failed","error":{"code":"server_error","message":"consumer KEY"}}}`),
	"a stream that breaks off":        stream(`{"type":"response.created","response":{"id":"KEY"}}`, `{"type":"response.output_item.added","item":{"type":"message","id":"KEY"}}`),
	"a 200 that is no answer":         reply(200, "text/html", "hello KEY"),
	"a payment page":                  reply(402, "application/json", `{"detail":"account of KEY has no credit"}`),
	"an answer":                       stream(evAdded, `{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"gpt-KEY","output":[{"type":"message","id":"msg_KEY","role":"assistant","content":[{"type":"output_text","text":"you are KEY"}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`),
	"an answer as JSON":               reply(200, "application/json", `{"id":"resp_1","status":"completed","model":"gpt-KEY","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"you are KEY"}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`),
	"a refusal":                       stream(evAdded, `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"refusal","refusal":"not for KEY"}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`),
	"a chat answer in pieces": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, frames(`{"id":"c","model":"KEY","choices":[{"index":0,"delta":{"role":"assistant","content":"KE"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"Y"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`))
	},
	"a chat error": reply(403, "application/json", `{"message":"KEY may not","request":{"headers":{"authorization":"Bearer KEY"}}}`),
}

// spelt writes what a handler writes with a key in place of KEY, and of KE and Y
// its halves, in headers too.
func spelt(handler http.HandlerFunc, key string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		handler(&speller{ResponseWriter: w, names: strings.NewReplacer("KEY", key, "KE", key[:len(key)/2], "Y\"", key[len(key)/2:]+"\"")}, r)
	}
}

type speller struct {
	http.ResponseWriter
	names *strings.Replacer
	begun bool
}

func (s *speller) begin() {
	if s.begun {
		return
	}
	s.begun = true
	for _, name := range []string{"X-Request-Id", "Apim-Request-Id", "X-Error-Code", "Www-Authenticate", "X-Ratelimit-Limit-Requests", "Retry-After"} {
		s.Header().Set(name, s.names.Replace("KEY"))
	}
}

func (s *speller) WriteHeader(status int) { s.begin(); s.ResponseWriter.WriteHeader(status) }

func (s *speller) Write(p []byte) (int, error) {
	s.begin()
	_, err := s.ResponseWriter.Write([]byte(s.names.Replace(string(p))))
	return len(p), err
}

func TestAnEndpointRemovesEveryKeyFromWhatItReturns(t *testing.T) {
	for name, handler := range echoes {
		for _, key := range []string{
			shapeless, strings.ToUpper(shapeless), url.QueryEscape(shapeless) + "%21", "Bearer " + shapeless, shapeless[:len(shapeless)-2],
			base64.StdEncoding.EncodeToString([]byte(shapeless)), base64.RawURLEncoding.EncodeToString([]byte("gw:" + shapeless + ":1")),
			strings.ReplaceAll(shapeless, "o", `\u006f`), "tulip-meadow-77-south", "rose-garden-13", "temporal-api-key-of-ours",
		} {
			for _, api := range []string{APIResponses, APIChatCompletions} {
				t.Run(name+" "+api, func(t *testing.T) {
					var mu sync.Mutex
					var told []string
					r := echoing(t, api, spelt(handler, key), func(c Change) {
						mu.Lock()
						defer mu.Unlock()
						told = append(told, fmt.Sprintf("%+v", c))
					})
					response, err := r.Call(context.Background(), request(t, forced("a")))
					all := everything(t, r, response, err)
					if how := leaks(all); how != "" {
						t.Errorf("%s is left %s in %s", key, how, all)
					}
					mu.Lock()
					defer mu.Unlock()
					if how := leaks(strings.Join(told, " ")); how != "" {
						t.Errorf("%s is told %s: %s", key, how, told)
					}
					if test, err := r.Test(context.Background(), "a", "m", 0); err != nil || leaks(fmt.Sprint(test)) != "" {
						t.Errorf("a test tells %s: %+v, %v", key, test, err)
					}
				})
			}
		}
	}
}

func TestAShortKeyLeavesMessagesOnly(t *testing.T) {
	r := pool(t, Config{}, resource("a", serve(t, reply(401, "application/json", `{"error":{"message":"no such consumer 'k-a'"}}`)).URL))
	_, err := r.Call(context.Background(), request(t, forced("a")))
	if f := failed(t, err); strings.Contains(f.Message, "k-a") || !strings.Contains(f.Message, "no such consumer") {
		t.Error(f.Message)
	}
	await(t, func() bool { return len(r.Off()) == 1 }) // by its test
	if off := r.Off(); len(off) != 1 || strings.Contains(off[0].Disabled.Reason, "k-a") {
		t.Errorf("disabled: %+v", off)
	}
}

func TestAConnectionsErrorIsWithoutTheKey(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte("consumer " + shapeless + " speaks no HTTP\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	a := resource("a", "http://"+listener.Addr().String())
	a.Key = shapeless
	r := pool(t, Config{}, a)
	response, err := r.Call(context.Background(), request(t, forced("a")))
	if all := everything(t, r, response, err); leaks(all) != "" {
		t.Error(all)
	}
}

func TestACallThatRepeatsAKeyIsNotCarriedOut(t *testing.T) {
	call := `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"send","arguments":"{\"to\":\"` + shapeless + `\"}"}`
	answer := func(item string) http.HandlerFunc {
		return stream(`{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[` + item + `],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`)
	}
	r := echoing(t, APIResponses, answer(call), nil)
	response, err := r.Call(context.Background(), request(t, forced("a")))
	if f := failed(t, err); f.Class != onceward.ClassInvalidOutput || len(response.Calls) != 0 || leaks(everything(t, r, response, err)) != "" {
		t.Errorf("%+v, %+v", response, f)
	}
	r = echoing(t, APIResponses, answer(strings.ReplaceAll(call, shapeless, "[redacted]")), nil)
	if response := mustCall(t, r, request(t, forced("a"))); len(response.Calls) != 1 {
		t.Errorf("a call with the words of the marker alone was not taken: %+v", response)
	}
	r = echoing(t, APIResponses, answer(`{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"you are `+shapeless+`!"}]}`), nil)
	response = mustCall(t, r, request(t, forced("a")))
	if response.Text != "you are [redacted]!" || len(response.Notices) != 1 || !strings.Contains(response.Notices[0], "credential") {
		t.Errorf("%+v", response)
	}
}

func TestHeadersOfAResourceGoWithEveryRequest(t *testing.T) {
	var mu sync.Mutex
	var got []http.Header
	handler := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.Header.Clone())
		mu.Unlock()
		stream(evAdded, evDone, evEnd)(w, r)
	}
	a := resource("a", serve(t, handler).URL)
	a.Headers = []Header{{Name: "x-portkey-provider", Value: "openai"}, {Name: "HTTP-Referer", Value: "https://shop.example"}, {Name: "X-Gateway-Auth", Secret: "Bearer rose-garden-13"}}
	r := pool(t, Config{}, a)
	mustCall(t, r, request(t, forced("a")))
	if test, err := r.Test(context.Background(), "a", "", 0); err != nil || !test.Passed {
		t.Fatalf("%+v, %v", test, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for i, h := range got {
		if h.Get("X-Portkey-Provider") != "openai" || h.Get("Http-Referer") != "https://shop.example" || h.Get("X-Gateway-Auth") != "Bearer rose-garden-13" || h.Get("Api-Key") != "k-a" {
			t.Errorf("request %d has %v", i, h)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d requests", len(got))
	}
}

func TestHeadersThatAreNotTheUsersAreRefused(t *testing.T) {
	for name, row := range map[string]struct {
		header Header
		want   string // empty: it is taken
	}{
		"a provider":                        {Header{Name: "x-portkey-provider", Value: "openai"}, ""},
		"a referer":                         {Header{Name: "HTTP-Referer", Value: "https://shop.example/a?b=c"}, ""},
		"a title with spaces":               {Header{Name: "X-Title", Value: "Our shop, EU"}, ""},
		"a hidden value":                    {Header{Name: "X-Api-Key", Secret: "hidden-1"}, ""},
		"no name":                           {Header{Value: "x"}, "name: is required"},
		"E25 the credential":                {Header{Name: "authorization", Secret: "Bearer x"}, "name: this header is not yours"},
		"Azure's credential":                {Header{Name: "API-KEY", Secret: "hidden-1"}, "name: this header is not yours"},
		"the host":                          {Header{Name: "host", Value: "x"}, "name: this header is not yours"},
		"the body's type":                   {Header{Name: "content-type", Value: "x"}, "name: this header is not yours"},
		"the body's length":                 {Header{Name: "Content-Length", Value: "1"}, "name: this header is not yours"},
		"a connection's":                    {Header{Name: "connection", Value: "close"}, "name: this header is not yours"},
		"another connection's":              {Header{Name: "TE", Value: "trailers"}, "name: this header is not yours"},
		"a proxy's credential":              {Header{Name: "Proxy-Authorization", Secret: "Basic x"}, "name: this header is not yours"},
		"compressed answers":                {Header{Name: "accept-encoding", Value: "gzip"}, "name: this header is not yours"},
		"what net/http sends twice for":     {Header{Name: "Idempotency-Key", Value: "x"}, "name: this header is not yours"},
		"and its other name":                {Header{Name: "x-idempotency-key", Value: "x"}, "name: this header is not yours"},
		"ours":                              {Header{Name: "x-onceward-run", Value: "x"}, "name: names that begin with"},
		"a name with a space":               {Header{Name: "X A", Value: "x"}, "name: is not the name"},
		"a name with a line break":          {Header{Name: "X\r\nA", Value: "x"}, "name: is not the name"},
		"a name in another alphabet":        {Header{Name: "X-\u0410", Value: "x"}, "name: is not the name"},
		"no value":                          {Header{Name: "X-A"}, "value: is empty"},
		"a value with a line break":         {Header{Name: "X-A", Value: "a\r\nAuthorization: b"}, "value: has U+000D"},
		"a hidden value with a break":       {Header{Name: "X-A", Secret: "a\nb"}, "value: has U+000A"},
		"a value that begins in a space":    {Header{Name: "X-A", Value: " a"}, "value: has U+0020 (a space) at character 1"},
		"a key in sight":                    {Header{Name: "X-A", Value: "sk-proj-12345678"}, "value: looks like a credential"},
		"a token in sight":                  {Header{Name: "X-A", Value: "Bearer tulip"}, "value: looks like a credential"},
		"E25 an address":                    {Header{Name: "From", Value: "ops@example.com"}, ""},
		"E25 addresses with a name":         {Header{Name: "From", Value: `"Ops, EU" <ops+eu@mail.example.com>, root@example.org`}, ""},
		"E25 an address to write to":        {Header{Name: "User-Agent", Value: "shop/1.2 (+mailto:ops@example.com)"}, ""},
		"E25 a version behind an @":         {Header{Name: "X-Client", Value: "shop@1.2.3"}, ""},
		"E25 a page with an address":        {Header{Name: "HTTP-Referer", Value: "https://shop.example/a?contact=ops@example.com"}, ""},
		"E25 a password before a host":      {Header{Name: "HTTP-Referer", Value: "https://ops:tulip@shop.example/a"}, "value: looks like a credential"},
		"E25 the same without a scheme":     {Header{Name: "X-Proxy", Value: "ops:tulip@shop.example"}, "value: looks like a credential"},
		"E25 a token before a host":         {Header{Name: "HTTP-Referer", Value: "https://tulip@shop.example/a"}, "value: looks like a credential"},
		"E25 a key before an @":             {Header{Name: "From", Value: "sk-proj-12345678@example.com"}, "value: looks like a credential"},
		"E25 a key behind an address":       {Header{Name: "From", Value: "ops@example.com sk-proj-12345678"}, "value: looks like a credential"},
		"a value whose name gives it up":    {Header{Name: "X-Portkey-Api-Key", Value: "tulip"}, "value: looks like a credential"},
		"E25 another name for a credential": {Header{Name: "cf-aig-authorization", Value: "tulip"}, "value: looks like a credential"},
		"E25 a token by its kind":           {Header{Name: "X-JWT-Assertion", Value: "tulip"}, "value: looks like a credential"},
		"E25 credentials":                   {Header{Name: "X-Credentials", Value: "tulip"}, "value: looks like a credential"},
		"E25 another method":                {Header{Name: "x-http-method-override", Value: "GET"}, "name: this header is not yours"},
		"E25 another path":                  {Header{Name: "X-Original-URL", Value: "/v1/models"}, "name: this header is not yours"},
		"E25 a condition":                   {Header{Name: "If-None-Match", Value: "*"}, "name: this header is not yours"},
		"two values":                        {Header{Name: "X-A", Value: "a", Secret: "b"}, "value: is given twice"},
	} {
		err := row.header.Check()
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), row.want)) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
	wrong := map[int]error{}
	CheckHeaders([]Header{{Name: "X-A", Value: "a"}, {Name: "x-a", Value: "b"}}, func(i int, err error) { wrong[i] = err })
	if len(wrong) != 1 || wrong[1] == nil {
		t.Errorf("a header given twice: %v", wrong)
	}
	var many []Header
	for i := range 33 {
		many = append(many, Header{Name: fmt.Sprintf("X-%d", i), Value: "a"})
	}
	wrong = map[int]error{}
	if CheckHeaders(many, func(i int, err error) { wrong[i] = err }); len(wrong) != 1 || wrong[32] == nil {
		t.Errorf("33 headers: %v", wrong)
	}
	a := resource("a", "http://127.0.0.1:1")
	a.Headers = []Header{{Name: "Host", Value: "x"}}
	if _, err := New(Config{Resources: []Resource{a}}); err == nil || !strings.Contains(err.Error(), "resources.a.headers[0].name: ") {
		t.Errorf("a router took it: %v", err)
	}
}

func TestAGateLeavesTheCallersRequestAlone(t *testing.T) {
	s := serve(t, reply(200, "text/plain", "hello "+shapeless))
	a := resource("a", s.URL)
	a.Key = shapeless
	client := &http.Client{Transport: Config{Resources: []Resource{a}}.Gate(a, nil), Timeout: time.Minute}
	req, err := http.NewRequest(http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body := make([]byte, 100)
	n, _ := res.Body.Read(body)
	if len(req.Header) != 0 || string(body[:n]) != "hello [redacted]" || strings.Contains(fmt.Sprintf("%+v", res.Request), shapeless) {
		t.Errorf("%v, %q", req.Header, body[:n])
	}
}
