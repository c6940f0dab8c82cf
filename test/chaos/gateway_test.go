package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/onceward/onceward/test/agents"
)

// gateway stands before payments. It notes what was asked under which lease, and
// answers in the place of payments. The zero value lets all pass.
type gateway struct {
	mu    sync.Mutex
	fault *gatewayFault
	posts []post
}

// post is a request to refund.
type post struct {
	action string
	lease  time.Time // its end; zero: unknown
	ended  time.Time // when payments was done with it
}

// gatewayFault answers Status to so many requests, after payments has seen them
// or instead.
type gatewayFault struct {
	status int
	times  int
	passes bool // payments sees the request, and its answer is lost
	// later breaks the connection at once, and payments sees the request so much
	// later: who asked knows nothing while it is on its way. Zero: it is not.
	later time.Duration
}

func (g *gateway) set(f *gatewayFault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = f
}

// take counts a request against the fault; nil: it passes.
func (g *gateway) take() *gatewayFault {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fault == nil || g.fault.times == 0 {
		return nil
	}
	g.fault.times--
	return g.fault
}

func (g *gateway) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/refunds" {
			next.ServeHTTP(rw, r)
			return
		}
		action, body := actionOf(r)
		r.Body = body
		end, _ := time.Parse(time.RFC3339Nano, r.Header.Get(agents.LeaseHeader)) // zero where there is none
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.posts = append(g.posts, post{action: action, lease: end, ended: time.Now()})
		}()
		f := g.take()
		if f == nil {
			next.ServeHTTP(rw, r)
			return
		}
		if f.later > 0 {
			reset(rw)
			onTheWay := time.NewTimer(f.later)
			defer onTheWay.Stop()
			<-onTheWay.C
			next.ServeHTTP(&deaf{header: http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
			return
		}
		if f.passes {
			next.ServeHTTP(&deaf{header: http.Header{}}, r)
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(f.status)
		_, _ = rw.Write([]byte(`{"error":"gateway"}`)) // a worker that is gone cannot be told
	})
}

// reset breaks the connection of a request.
func reset(rw http.ResponseWriter) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return // it is broken
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// actionOf reads the action of a request to refund, and gives its body back.
func actionOf(r *http.Request) (string, io.ReadCloser) {
	raw, err := io.ReadAll(r.Body)
	var said struct {
		ActionID string `json:"action_id"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &said)
	}
	if err != nil {
		return "", io.NopCloser(bytes.NewReader(raw)) // cut on its way: payments refuses it
	}
	return said.ActionID, io.NopCloser(bytes.NewReader(raw))
}

// deaf takes an answer that nobody hears.
type deaf struct{ header http.Header }

func (d *deaf) Header() http.Header         { return d.header }
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }
func (d *deaf) WriteHeader(int)             {}
