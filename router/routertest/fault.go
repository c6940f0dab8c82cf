package routertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// FaultKind says what goes wrong.
type FaultKind string

// Faults in front of the API: they act before the request is checked.
const (
	// FaultStatus answers Status with Body and Header; an empty Body becomes
	// the usual body of that status.
	FaultStatus FaultKind = "status"
	// FaultHang says nothing until released or the client is gone.
	FaultHang FaultKind = "hang"
	// FaultHangHeaders sends a 200's headers, then hangs.
	FaultHangHeaders FaultKind = "hang_headers"
	// FaultReset resets the connection (TCP RST) without an answer.
	FaultReset FaultKind = "reset"
	// FaultClose closes the connection (FIN) without an answer.
	FaultClose FaultKind = "close"
	// FaultEmpty answers 200 with no byte.
	FaultEmpty FaultKind = "empty"
	// FaultNull answers 200 with the body null.
	FaultNull FaultKind = "null"
	// FaultObject answers 200 with the body {}.
	FaultObject FaultKind = "object"
	// FaultHTML answers Status (0: 200) with a text/html page, or Body, as a
	// proxy or a firewall before the API does: without the API's headers.
	FaultHTML FaultKind = "html"
	// FaultSlow does nothing but its Delay and EventDelay; another fault may
	// act on the same request.
	FaultSlow FaultKind = "slow"
	// FaultCache is a caching gateway before the resource and all other faults
	// but slow: a body that is equal to one that was answered well gets the same
	// answer, whatever its headers say, unless HonourNoCache.
	FaultCache FaultKind = "cache"
)

// Faults of the answer: the request was checked and the model has answered.
const (
	// FaultHangEvents hangs after AfterEvents events.
	FaultHangEvents FaultKind = "hang_events"
	// FaultCutEvents closes the connection after AfterEvents events.
	FaultCutEvents FaultKind = "cut_events"
	// FaultCutBytes closes the connection after AfterBytes bytes of the body.
	FaultCutBytes FaultKind = "cut_bytes"
	// FaultProse replaces the model's text with Body, or a sentence.
	FaultProse FaultKind = "prose"
	// FaultFailed ends with response.failed and Code, Message after
	// AfterEvents events (0: before any output).
	FaultFailed FaultKind = "failed"
	// FaultIncomplete ends with response.incomplete and Reason (empty:
	// max_output_tokens) after AfterEvents events (0: after the output).
	FaultIncomplete FaultKind = "incomplete"
	// FaultErrorEvent ends with an error event and Code, Message after
	// AfterEvents events (0: before any output).
	FaultErrorEvent FaultKind = "error_event"
	// FaultNoTerminal ends the stream well, but without a terminal event.
	FaultNoTerminal FaultKind = "no_terminal"
	// FaultTwoTerminals sends the terminal event twice.
	FaultTwoTerminals FaultKind = "two_terminals"
	// FaultBrokenEvent puts an event with broken JSON after AfterEvents events.
	FaultBrokenEvent FaultKind = "broken_event"
	// FaultJSON answers a stream request with the JSON form.
	FaultJSON FaultKind = "json"
	// FaultNoUsage leaves usage out.
	FaultNoUsage FaultKind = "no_usage"
	// FaultNoOutput completes with no output item.
	FaultNoOutput FaultKind = "no_output"
	// FaultBrokenArguments cuts the arguments of every call in half.
	FaultBrokenArguments FaultKind = "broken_arguments"
)

var edgeFaults = []FaultKind{FaultStatus, FaultHang, FaultHangHeaders, FaultReset, FaultClose, FaultEmpty, FaultNull, FaultObject, FaultHTML}

// besideFaults act beside another fault on the same request.
var besideFaults = []FaultKind{FaultSlow, FaultCache}

var answerFaults = []FaultKind{FaultHangEvents, FaultCutEvents, FaultCutBytes, FaultProse, FaultFailed, FaultIncomplete, FaultErrorEvent, FaultNoTerminal, FaultTwoTerminals, FaultBrokenEvent, FaultJSON, FaultNoUsage, FaultNoOutput, FaultBrokenArguments}

// Fault makes requests fail. It acts on requests for a model response, after
// the key was checked. Without conditions it acts on every such request of
// every resource until it is removed. A value that was set is not changed.
//
// Neutral requests meet the same faults, unless Only says otherwise: a resource
// without money refuses its tests as well. They are counted apart, so that a
// test of health neither uses up nor puts off what is meant for a run. Of the
// counts, Share holds for each sort by itself; Nth is about runs alone; and with
// Times a neutral is met while runs still are, at most Times neutrals in all.
type Fault struct {
	// ID names the fault for removal; empty: one is given.
	ID   string    `json:"id,omitempty"`
	Kind FaultKind `json:"kind"`

	// Resource is the name of the resource; empty: all.
	Resource string `json:"resource,omitempty"`
	// Match and When choose among the requests. When is called under the
	// pool's lock: it must be quick and must not call the pool.
	Match Match              `json:"match,omitzero"`
	When  func(Request) bool `json:"-"`
	// Only leaves requests of the other sort alone; empty: it acts on both.
	Only Sort `json:"only,omitempty"`
	// Nth acts only on the n-th chosen request, counted from 1; 0: on all.
	Nth int `json:"nth,omitempty"`
	// Times is how often it acts before all is well again; 0: without end.
	Times int `json:"times,omitempty"`
	// Share acts on a part of the chosen requests only; zero: on all.
	Share Share `json:"share,omitzero"`

	Status      int               `json:"status,omitempty"`
	Body        string            `json:"body,omitempty"`
	Header      map[string]string `json:"header,omitempty"`
	AfterEvents int               `json:"after_events,omitempty"`
	AfterBytes  int               `json:"after_bytes,omitempty"`
	Code        string            `json:"code,omitempty"`
	Message     string            `json:"message,omitempty"`
	Reason      string            `json:"reason,omitempty"`
	// Flat makes error_event carry code and message at its top level instead
	// of inside an error object.
	Flat bool `json:"flat,omitempty"`
	// HonourNoCache makes the cache pass requests with Cache-Control: no-cache.
	HonourNoCache bool `json:"honour_no_cache,omitempty"`
	// RST makes the cut faults reset the connection instead of closing it.
	RST bool `json:"rst,omitempty"`
	// Delay is waited before the fault acts, EventDelay before each event of
	// the stream. In JSON they are written like "150ms".
	Delay      time.Duration `json:"-"`
	EventDelay time.Duration `json:"-"`
}

type plainFault Fault

type jsonFault struct {
	plainFault
	Delay      string `json:"delay,omitempty"`
	EventDelay string `json:"event_delay,omitempty"`
}

// MarshalJSON writes the delays as text; Go functions are left out.
func (f Fault) MarshalJSON() ([]byte, error) {
	j := jsonFault{plainFault: plainFault(f)}
	if f.Delay > 0 {
		j.Delay = f.Delay.String()
	}
	if f.EventDelay > 0 {
		j.EventDelay = f.EventDelay.String()
	}
	return json.Marshal(j)
}

// UnmarshalJSON refuses unknown keys.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var j jsonFault
	if err := decodeStrict(data, &j); err != nil {
		return fmt.Errorf("read fault: %w", err)
	}
	*f = Fault(j.plainFault)
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{j.Delay, &f.Delay}, {j.EventDelay, &f.EventDelay}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil {
			return fmt.Errorf("read fault: %w", err)
		}
		*d.to = v
	}
	return nil
}

type activeFault struct {
	Fault
	match          *matcher
	runs, neutrals tally
	answers        answers // of a cache
	released       chan struct{}
	once           sync.Once
}

func (a *activeFault) release() { a.once.Do(func() { close(a.released) }) }

type faultSet struct {
	pool *Pool
	mu   sync.Mutex
	id   int
	list []*activeFault
}

func newFaultSet(p *Pool) *faultSet { return &faultSet{pool: p} }

func (fs *faultSet) check(f Fault) (*activeFault, error) {
	if !slices.Contains(slices.Concat(edgeFaults, besideFaults, answerFaults), f.Kind) {
		return nil, fmt.Errorf("fault %q: unknown kind %q", f.ID, f.Kind)
	}
	if f.Resource != "" && fs.pool.byName[f.Resource] == nil {
		return nil, fmt.Errorf("fault %q: no resource %q", f.ID, f.Resource)
	}
	if (f.Kind == FaultStatus || f.Kind == FaultHTML && f.Status != 0) && (f.Status < 200 || f.Status > 599) {
		return nil, fmt.Errorf("fault %q: status %d", f.ID, f.Status)
	}
	if f.Only != "" && f.Only != Runs && f.Only != Neutrals {
		return nil, fmt.Errorf("fault %q: only %q", f.ID, f.Only)
	}
	if s := f.Share; s.Fail < 0 || s.Fail > s.Of || s.Of > 0 && (s.Fail == 0 || f.Nth > 0) {
		return nil, fmt.Errorf("fault %q: a share of %d in %d, and nth %d", f.ID, s.Fail, s.Of, f.Nth)
	}
	if f.Nth < 0 || f.Times < 0 || f.AfterEvents < 0 || f.AfterBytes < 0 || f.Delay < 0 || f.EventDelay < 0 {
		return nil, fmt.Errorf("fault %q: a count or delay is negative", f.ID)
	}
	m, err := f.Match.compile()
	if err != nil {
		return nil, fmt.Errorf("fault %q: %w", f.ID, err)
	}
	return &activeFault{Fault: f, match: m, released: make(chan struct{})}, nil
}

// AddFaults adds faults after those that are set; of several that choose one
// request the first acts. Nothing is added when one of them is refused.
func (p *Pool) AddFaults(faults ...Fault) error { return p.faults.add(false, faults) }

// SetFaults replaces all faults and lets go what hangs in the old ones.
func (p *Pool) SetFaults(faults ...Fault) error { return p.faults.add(true, faults) }

func (fs *faultSet) add(replace bool, faults []Fault) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	list := []*activeFault{}
	if !replace {
		list = append(list, fs.list...)
	}
	for _, f := range faults {
		if f.ID == "" {
			fs.id++
			f.ID = fmt.Sprintf("fault-%d", fs.id)
		}
		a, err := fs.check(f)
		if err != nil {
			return fmt.Errorf("set faults: %w", err)
		}
		if slices.ContainsFunc(list, func(o *activeFault) bool { return o.ID == f.ID }) {
			return fmt.Errorf("set faults: fault %q: %w", f.ID, errors.New("the id is used twice"))
		}
		list = append(list, a)
	}
	if replace {
		for _, old := range fs.list {
			old.release()
		}
	}
	fs.list = list
	return nil
}

// Faults returns what is set, spent faults included.
func (p *Pool) Faults() []Fault {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	out := []Fault{}
	for _, a := range p.faults.list {
		out = append(out, a.Fault)
	}
	return out
}

// ClearFaults removes all faults and lets go what hangs in them.
func (p *Pool) ClearFaults() {
	_ = p.SetFaults() // an empty list cannot be refused
}

// RemoveFault removes one fault and lets go what hangs in it; it tells whether
// there was one of that id.
func (p *Pool) RemoveFault(id string) bool {
	found := p.Release(id)
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.list = slices.DeleteFunc(p.faults.list, func(a *activeFault) bool { return a.ID == id })
	return found
}

// Release lets every request that hangs in the fault of that id go on as if
// there were no fault, later ones too; an empty id releases all faults.
func (p *Pool) Release(id string) bool {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	found := false
	for _, a := range p.faults.list {
		if id == "" || a.ID == id {
			found = true
			a.release()
		}
	}
	return found
}

// pick returns the first fault of the kinds that acts on the request, and
// counts it.
func (fs *faultSet) pick(req Request, as sent, kinds []FaultKind) *activeFault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, a := range fs.list {
		if !slices.Contains(kinds, a.Kind) || !a.Only.holds(req.Neutral) || (a.Resource != "" && a.Resource != req.Resource) {
			continue
		}
		if _, ok := a.match.match(req, as); !ok || (a.When != nil && !a.When(req)) {
			continue
		}
		if a.due(req.Neutral) {
			return a
		}
	}
	return nil
}

// hang waits until the fault is released; false: the client or the pool is gone.
func (p *Pool) hang(x *exchange, a *activeFault) bool {
	select {
	case <-a.released:
		return true
	case <-x.ctx().Done():
	case <-p.done:
	}
	return false
}
