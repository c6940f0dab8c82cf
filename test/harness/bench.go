package harness

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/worker/config"
)

// Key is the credential of every resource; KeyVariable names it. It must never
// be found in a history.
const (
	Key         = "sk-process-test-7e0f1c55"
	KeyVariable = "ONCEWARD_PROCESS_TEST_KEY"
)

// Times of the tests' configuration. Lease and Heartbeat are longer than a slow
// machine stalls: a commit that a test holds back, or one that nothing is wrong
// with, must not be given up because of that. A test that waits for the end of a
// lease, or for the loss of a worker to be noticed, sets shorter ones.
const (
	Lease     = time.Minute
	Skew      = 500 * time.Millisecond
	Heartbeat = 10 * time.Second
	// SoonLost is the heartbeat of a test that loses a worker.
	SoonLost = 2 * time.Second
	// Patience bounds every wait of a test.
	Patience = 5 * time.Minute
)

// Request is a request as the pool recorded it.
type Request = routertest.Request

// Options is what a test sets. The zero value is a refund agent with two
// resources and payments without faults.
type Options struct {
	Server    *Temporal          // nil: the shared one
	Resources []string           // names; nil: a and b
	Model     *routertest.Model  // nil: the refund script
	Faults    []routertest.Fault // of the pool
	Payments  payments.Config    // its hooks are taken by the bench: use OnBeforeCommit and OnAfterCommit
	Attempts  int                // budget; 0: 12
	Degraded  string             // of the task class refund; "": unavailable
	Lease     time.Duration      // 0: Lease
	Heartbeat time.Duration      // 0: Heartbeat, or the lease if that is shorter
	// StickyCache is how many runs a worker keeps in memory; 0: the default.
	StickyCache int
	MaxCommits  int // of a worker at once; 0: the default
	Pool        func(*routertest.Config)
	// Converter is what the bench's own client reads and writes payloads with; nil:
	// the SDK's. Workers that share it have a flag.
	Converter converter.DataConverter
	// Links puts a link that the test can break between the workers and all that
	// they talk to.
	Links bool
	// Front stands before payments and sees what it is sent first.
	Front func(payments http.Handler) http.Handler
}

// Bench is all that one test has: its queue, configuration, pool, payments and
// workers. Make it with New. Its methods are for the test's goroutine, but for
// those that say otherwise.
type Bench struct {
	Temporal *Temporal
	Client   client.Client
	Queue    string
	Pool     *routertest.Pool
	Payments *payments.Server

	t           *testing.T
	dir         string
	config      string // path of the configuration file
	paymentsURL string
	convert     converter.DataConverter
	links       map[string]*Link // by what they lead to

	mu      sync.Mutex
	ended   bool
	retired bool // no worker is followed by another
	workers []*Worker
	live    *Worker
	deaths  int
	wait    sync.WaitGroup
	resets  map[string][]string // run ids that resets made, by workflow id

	beforeCommit, afterCommit, onRead, onPost func(n int) // set before the first worker is started
	seen                                      struct {
		sync.Mutex
		before, after, reads int
		open                 int      // requests to refund that payments has in hand
		keys                 []string // of requests to refund
	}
}

// New makes a bench; it is taken down with the test.
func New(t *testing.T, o Options) *Bench {
	t.Helper()
	b := &Bench{Temporal: o.Server, t: t, dir: t.TempDir(), Queue: queueName(t)}
	if b.Temporal == nil {
		b.Temporal = Shared(t)
	}
	b.Client, b.convert = b.Temporal.Client, converter.GetDefaultDataConverter()
	if o.Converter != nil {
		b.convert = o.Converter
		b.dial(t)
	}
	b.startPool(o)
	b.startPayments(o)
	if o.Links {
		b.startLinks()
	}
	b.config = filepath.Join(b.dir, "onceward.yaml")
	if err := os.WriteFile(b.config, []byte(b.configuration(o)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.end(t) })
	return b
}

// dial gives the bench a client with its own converter.
func (b *Bench) dial(t *testing.T) {
	t.Helper()
	options, err := config.Temporal{Address: b.Temporal.Address}.Options()
	if err != nil {
		t.Fatal(err)
	}
	options.Logger, options.DataConverter = quiet{}, b.convert
	if b.Client, err = client.DialContext(b.Context(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Client.Close)
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// queueName is the test's name, and an end that no other process chose.
func queueName(t *testing.T) string {
	name := unfit.ReplaceAllString(t.Name(), "-")
	return fmt.Sprintf("%s-%d", name[max(0, len(name)-80):], time.Now().UnixNano()%1e9)
}

func (b *Bench) startPool(o Options) {
	names := o.Resources
	if names == nil {
		names = []string{"a", "b"}
	}
	cfg := routertest.Config{Model: routertest.RefundModel(), Faults: o.Faults}
	if o.Model != nil {
		cfg.Model = *o.Model
	}
	for _, name := range names {
		cfg.Resources = append(cfg.Resources, routertest.Resource{
			Name: name, Key: Key, EncryptionBoundary: "one",
			// The headers of a small quota would make a long run wait for it.
			Drift: routertest.Drift{RateLimit: routertest.RateLimit{LimitTokens: 1e9, RemainingTokens: 1e9, LimitRequests: 1e6, RemainingRequests: 1e6}},
		})
	}
	if o.Pool != nil {
		o.Pool(&cfg)
	}
	b.Pool = routertest.Start(b.t, cfg)
}

func (b *Bench) startPayments(o Options) {
	cfg := o.Payments
	cfg.BeforeCommit = func(payments.RefundRequest) { b.count(&b.seen.before, b.beforeCommit) }
	cfg.AfterCommit = func(payments.Refund) { b.count(&b.seen.after, b.afterCommit) }
	service, err := payments.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Payments = service
	handler := service.Handler()
	if o.Front != nil {
		handler = o.Front(handler)
	}
	listener := httptest.NewServer(b.watch(handler))
	b.paymentsURL = listener.URL
	b.t.Cleanup(func() {
		if err := service.Close(); err != nil {
			b.t.Error(err)
		}
		listener.Close()
	})
}

// watch sees what payments is asked before it answers.
func (b *Bench) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refunds" && r.Method == http.MethodGet {
			b.seen.Lock()
			hook := b.onRead
			b.seen.Unlock()
			b.count(&b.seen.reads, hook)
		}
		if r.URL.Path == "/refunds" && r.Method == http.MethodPost {
			b.seen.Lock()
			b.seen.keys = append(b.seen.keys, r.Header.Get("Idempotency-Key"))
			n := len(b.seen.keys)
			b.seen.open++
			b.seen.Unlock()
			defer func() {
				b.seen.Lock()
				defer b.seen.Unlock()
				b.seen.open--
			}()
			if b.onPost != nil {
				b.onPost(n)
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (b *Bench) count(counter *int, hook func(int)) {
	b.seen.Lock()
	*counter++
	n := *counter
	b.seen.Unlock()
	if hook != nil {
		hook(n)
	}
}

// OnBeforeCommit sets what happens when payments has a request and has not paid;
// n counts from 1. Set it before the first run is started.
func (b *Bench) OnBeforeCommit(hook func(n int)) { b.beforeCommit = hook }

// OnAfterCommit sets what happens when a refund is paid and not answered.
func (b *Bench) OnAfterCommit(hook func(n int)) { b.afterCommit = hook }

// OnPost sets what happens when a request to refund arrives, before payments or
// a fault of it looks at it.
func (b *Bench) OnPost(hook func(n int)) { b.onPost = hook }

// OnRead sets what happens when payments is asked for the refunds of an action,
// before it answers.
func (b *Bench) OnRead(hook func(n int)) { b.onRead = hook }

// SetOnRead is OnRead while workers run; nil lifts it.
func (b *Bench) SetOnRead(hook func(n int)) {
	b.seen.Lock()
	defer b.seen.Unlock()
	b.onRead = hook
}

// AwaitReads waits until payments was asked so often for the refunds of an
// action.
func (b *Bench) AwaitReads(n int) {
	b.t.Helper()
	b.seenUntil(fmt.Sprintf("%d reads of refunds", n), func() bool { return b.seen.reads >= n })
}

// AwaitPaid waits until payments has no request to refund in hand: it ends one
// also when the client is gone, and whoever counts before that counts too few.
func (b *Bench) AwaitPaid() {
	b.t.Helper()
	b.seenUntil("no request to refund in hand", func() bool { return b.seen.open == 0 })
}

func (b *Bench) seenUntil(what string, ok func() bool) {
	b.t.Helper()
	for ctx := b.Context(); ; pace(ctx) {
		b.seen.Lock()
		done := ok()
		b.seen.Unlock()
		if done {
			return
		}
		if ctx.Err() != nil {
			b.t.Fatalf("payments never had %s", what)
		}
	}
}

// Amount is what payments would refund of an order, in cents.
func (b *Bench) Amount(order string) int64 {
	b.t.Helper()
	got, err := payments.NewClient(b.paymentsURL, nil).Order(b.Context(), order)
	if err != nil {
		b.t.Fatal(err)
	}
	return got.AmountCents
}

// Pay pays a refund as somebody else does who knows the key.
func (b *Bench) Pay(key string, in payments.RefundRequest) {
	b.t.Helper()
	if _, err := payments.NewClient(b.paymentsURL, nil).Refund(b.Context(), key, in); err != nil {
		b.t.Fatal(err)
	}
}

// Keys returns the idempotency keys of the requests to refund.
func (b *Bench) Keys() []string {
	b.seen.Lock()
	defer b.seen.Unlock()
	return append([]string(nil), b.seen.keys...)
}

// Context returns a context that ends with the patience of tests.
func (b *Bench) Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	b.t.Cleanup(cancel)
	return ctx
}
