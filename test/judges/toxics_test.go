package judges

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
)

// proxied puts a proxy with toxics in front of an address and returns its own.
// A toxic is written as its type, its direction and its attributes.
func proxied(t *testing.T, upstream string, toxics ...string) *toxiproxy.Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "judge", "127.0.0.1:0", upstream)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	for i, toxic := range toxics {
		part := strings.SplitN(toxic, " ", 3)
		spec := fmt.Sprintf(`{"name":"toxic%d","type":%q,"stream":%q,"attributes":%s}`, i, part[0], part[1], part[2])
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(spec)); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
	}
	return proxy
}

// nobody is an address that nobody listens on and nobody can: its port is bound.
// One that was only closed could be the next test's.
func nobody(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

// longAnswer is a text of more events than any buffer on the way holds at once.
var longAnswer = routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say(strings.Repeat("word ", 400))}}}}

func TestBrokenTransportIsNamedAndNeverRepeated(t *testing.T) {
	t.Parallel()
	// quick timeouts are waited for. A request and its first event arrive earlier, on
	// a slow machine too; what a toxic holds back comes much later.
	quick := onceward.Timeouts{FirstEvent: 4 * time.Second, Idle: 4 * time.Second, Attempt: 12 * time.Second}
	slowEvents := routertest.Fault{Kind: routertest.FaultSlow, EventDelay: 20 * time.Millisecond}
	const anyPhase onceward.Phase = ""
	for name, c := range map[string]struct {
		toxics   []string
		timeouts onceward.Timeouts // zero: patient
		fault    routertest.Fault
		class    onceward.Class // "": success
		phase    onceward.Phase
		requests int // that the resource saw
		down     bool
	}{
		"nothing is wrong":                                {requests: 1},
		"latency is waited for":                           {toxics: []string{`latency downstream {"latency":150,"jitter":50}`}, requests: 1},
		"latency of the request is waited for":            {toxics: []string{`latency upstream {"latency":150}`}, requests: 1},
		"latency beyond the first event ends as timeout":  {toxics: []string{`latency downstream {"latency":60000}`}, timeouts: quick, class: onceward.ClassTimeout, phase: onceward.PhaseSent, requests: 1},
		"a slow close is not waited for":                  {toxics: []string{`slow_close downstream {"delay":5000}`}, requests: 1},
		"small slices are put together":                   {toxics: []string{`slicer downstream {"average_size":37,"size_variation":30,"delay":10}`}, requests: 1},
		"a narrow line is waited for":                     {toxics: []string{`bandwidth downstream {"rate":400}`}, requests: 1},
		"a line too narrow ends as timeout":               {toxics: []string{`bandwidth downstream {"rate":1}`}, timeouts: quick, class: onceward.ClassTimeout, phase: anyPhase, requests: 1},
		"silence ends as timeout":                         {toxics: []string{`timeout downstream {"timeout":0}`}, timeouts: quick, class: onceward.ClassTimeout, phase: onceward.PhaseSent, requests: 1},
		"a request that gets lost ends as timeout":        {toxics: []string{`timeout upstream {"timeout":0}`}, timeouts: quick, class: onceward.ClassTimeout, phase: onceward.PhaseSent, requests: 0},
		"silence and a close end as network":              {toxics: []string{`timeout downstream {"timeout":3000}`}, class: onceward.ClassNetwork, phase: onceward.PhaseSent, requests: 1},
		"a reset before the answer ends as network":       {toxics: []string{`reset_peer downstream {"timeout":0}`}, class: onceward.ClassNetwork, phase: onceward.PhaseSent, requests: 1},
		"a reset within the answer ends as network":       {toxics: []string{`reset_peer downstream {"timeout":400}`}, fault: slowEvents, class: onceward.ClassNetwork, phase: anyPhase, requests: 1},
		"a cut within the headers ends as network":        {toxics: []string{`limit_data downstream {"bytes":60}`}, class: onceward.ClassNetwork, phase: onceward.PhaseSent, requests: 1},
		"a cut within the first event ends as network":    {toxics: []string{`limit_data downstream {"bytes":900}`}, class: onceward.ClassNetwork, phase: onceward.PhaseSent, requests: 1},
		"a cut after output has begun ends as network":    {toxics: []string{`limit_data downstream {"bytes":9000}`}, class: onceward.ClassNetwork, phase: onceward.PhaseStream, requests: 1},
		"a cut of a JSON answer ends as network":          {toxics: []string{`limit_data downstream {"bytes":2000}`}, fault: routertest.Fault{Kind: routertest.FaultJSON}, class: onceward.ClassNetwork, phase: onceward.PhaseBody, requests: 1},
		"a cut of the request ends as network":            {toxics: []string{`limit_data upstream {"bytes":100}`}, class: onceward.ClassNetwork, phase: onceward.PhaseSent, requests: -1},
		"nobody listening ends as network and is unsent":  {down: true, class: onceward.ClassNetwork, phase: onceward.PhasePrepare, requests: 0},
		"events that come too slowly are waited for":      {toxics: []string{`latency downstream {"latency":30}`}, fault: routertest.Fault{Kind: routertest.FaultSlow, EventDelay: time.Millisecond}, requests: 1},
		"an answer that stalls half way ends as timeout":  {toxics: []string{`latency downstream {"latency":10}`}, timeouts: quick, fault: routertest.Fault{Kind: routertest.FaultHangEvents, AfterEvents: 6}, class: onceward.ClassTimeout, phase: onceward.PhaseStream, requests: 1},
		"a slow close of a cut answer ends as network":    {toxics: []string{`limit_data downstream {"bytes":4000}`, `slow_close downstream {"delay":300}`}, class: onceward.ClassNetwork, phase: onceward.PhaseStream, requests: 1},
		"a cut answer whose end never comes is a timeout": {toxics: []string{`limit_data downstream {"bytes":4000}`, `slow_close downstream {"delay":60000}`}, timeouts: quick, class: onceward.ClassTimeout, phase: onceward.PhaseStream, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := routertest.Start(t, routertest.Config{Resources: resources("a"), Model: longAnswer})
			if c.fault.Kind != "" {
				if err := pool.SetFaults(c.fault); err != nil {
					t.Fatal(err)
				}
			}
			direct := pool.Resource("a").URL()
			host := strings.TrimSuffix(strings.TrimPrefix(direct, "http://"), "/openai/v1/")
			address := proxied(t, host, c.toxics...).Listen
			if c.down {
				address = nobody(t)
			}
			r := routerOf(t, resource("a", strings.Replace(direct, host, address, 1), able()))
			timeouts := c.timeouts
			if timeouts == (onceward.Timeouts{}) {
				timeouts = patient()
			}
			start := time.Now()
			res, f := call(t, r, onceward.ModelRequest{
				Route: to("a"), Items: []onceward.Item{text(t, "user", strings.Repeat("please ", 100))}, Timeouts: timeouts,
			})
			if took := time.Since(start); took > timeouts.Attempt+20*time.Second {
				t.Errorf("it took %s, the attempt's limit is %s", took, timeouts.Attempt)
			}
			attempts := pool.Attempts()
			if attempts > 1 || c.requests >= 0 && attempts != c.requests {
				t.Errorf("the resource saw %d requests, want %d", attempts, c.requests)
			}
			if c.class == "" {
				if f != nil {
					t.Errorf("%s in %s: %s", f.Class, f.Phase, f.Message)
				} else if len(res.Text) != 2000 {
					t.Errorf("%d bytes of text", len(res.Text))
				}
				return
			}
			if f == nil {
				t.Fatalf("no failure, want %s", c.class)
			}
			if f.Class != c.class || c.phase != anyPhase && f.Phase != c.phase {
				t.Errorf("%s in %s, want %s in %s: %s", f.Class, f.Phase, c.class, c.phase, f.Message)
			}
			if f.StateEffect != onceward.EffectBreaker || !f.FallbackEligible {
				t.Errorf("effect %s and fallback %t: another resource should be tried, and this one counted", f.StateEffect, f.FallbackEligible)
			}
		})
	}
}

// Wherever the answer is cut, it is either whole or a failure of the network,
// and it is asked for once.
func TestAnswerCutAnywhereIsNeverTakenForAWholeOne(t *testing.T) {
	t.Parallel()
	pool := routertest.Start(t, routertest.Config{Resources: resources("a")})
	direct := pool.Resource("a").URL()
	host := strings.TrimSuffix(strings.TrimPrefix(direct, "http://"), "/openai/v1/")
	whole, cut := 0, 0
	for bytes := 1; whole == 0; bytes += 13 {
		if bytes > 1<<16 {
			t.Fatal("no answer came through whole")
		}
		proxy := proxied(t, host, fmt.Sprintf(`limit_data downstream {"bytes":%d}`, bytes))
		r := routerOf(t, resource("a", strings.Replace(direct, host, proxy.Listen, 1), able()))
		before := pool.Attempts()
		res, f := call(t, r, onceward.ModelRequest{Route: to("a"), Items: []onceward.Item{text(t, "user", "hello")}, Timeouts: patient()})
		switch {
		case f == nil && res.Text == "ok" && res.Usage.Known:
			whole++
		case f == nil:
			t.Errorf("after %d bytes: taken for whole: %+v", bytes, res)
		case f.Class != onceward.ClassNetwork:
			t.Errorf("after %d bytes: %s: %s", bytes, f.Class, f.Message)
		default:
			cut++
		}
		if n := pool.Attempts() - before; n != 1 {
			t.Errorf("after %d bytes: %d requests", bytes, n)
		}
	}
	if cut < 20 {
		t.Errorf("only %d answers were cut: the steps are too wide", cut)
	}
}

// A connection that was used before breaks under the next request: net/http
// would like to send that one again on another.
func TestWarmConnectionThatBreaksIsNotAskedTwice(t *testing.T) {
	t.Parallel()
	for name, toxic := range map[string]string{
		"reset": `{"type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`,
		"cut":   `{"type":"limit_data","stream":"downstream","attributes":{"bytes":900}}`,
		"lost":  `{"type":"limit_data","stream":"upstream","attributes":{"bytes":300}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := routertest.Start(t, routertest.Config{Resources: resources("a")})
			direct := pool.Resource("a").URL()
			host := strings.TrimSuffix(strings.TrimPrefix(direct, "http://"), "/openai/v1/")
			proxy := proxied(t, host)
			r := routerOf(t, resource("a", strings.Replace(direct, host, proxy.Listen, 1), able()))
			ask := onceward.ModelRequest{Route: to("a"), Items: []onceward.Item{text(t, "user", "hello")}, Timeouts: patient()}
			mustCall(t, r, ask)
			if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
				t.Fatal(err)
			}
			_, f := call(t, r, ask)
			if f == nil || f.Class != onceward.ClassNetwork {
				t.Errorf("failure %+v", f)
			}
			if n := pool.Attempts(); n > 2 {
				t.Errorf("the resource saw %d requests for two attempts", n)
			}
		})
	}
}
