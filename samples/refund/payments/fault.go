package payments

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// FaultKind names one way in which payments misbehaves.
type FaultKind string

// The faults. Lag is for reads, AnswerStatus for both, the rest for writes.
const (
	NoFault          FaultKind = ""
	CommitThenDrop   FaultKind = "commit_then_drop"   // paid and fsynced, then the connection is reset without an answer
	CommitThenSlow   FaultKind = "commit_then_slow"   // paid and fsynced, then the answer is held back: the moment to kill a worker
	DropBeforeCommit FaultKind = "drop_before_commit" // the connection is reset, nothing is paid
	Slow             FaultKind = "slow"               // waits, then pays, even when the client has hung up meanwhile
	AnswerStatus     FaultKind = "status"             // answers that status, nothing is paid
	StoredStatus     FaultKind = "stored_status"      // answers that status now and whenever the key comes again, nothing is paid
	Lag              FaultKind = "lag"                // refunds younger than the delay are not shown
)

const maxDelay = 24 * time.Hour

// Fault is one way to misbehave and how often. The zero value is no fault. It is a plain value, safe to copy.
type Fault struct {
	Kind   FaultKind
	Delay  time.Duration // Slow, CommitThenSlow and Lag: more than 0, at most 24 h
	Status int           // AnswerStatus and StoredStatus: 400 to 599
	Times  int           // how many requests it hits; 0: every one until it is lifted
}

// String gives the form that ParseWriteFault and ParseReadFault read; "" is no fault.
func (f Fault) String() string {
	switch f.Kind {
	case Slow, CommitThenSlow, Lag:
		return string(f.Kind) + ":" + f.Delay.String()
	case AnswerStatus, StoredStatus:
		return string(f.Kind) + ":" + strconv.Itoa(f.Status)
	default:
		return string(f.Kind)
	}
}

// ParseWriteFault reads a fault of POST /refunds: commit_then_drop, commit_then_slow:DURATION, drop_before_commit,
// slow:DURATION, status:CODE or stored_status:CODE. "" is no fault. It hits so many valid requests, 0 for all.
func ParseWriteFault(text string, times int) (Fault, error) {
	f, err := parseFault(text, times)
	if err != nil {
		return Fault{}, fmt.Errorf("parse fault %q: %w", text, err)
	}
	return f, f.checkWrite()
}

// ParseReadFault reads a fault of GET /refunds: status:CODE or lag:DURATION. "" is no fault. It hits so many
// reads, 0 for all.
func ParseReadFault(text string, times int) (Fault, error) {
	f, err := parseFault(text, times)
	if err != nil {
		return Fault{}, fmt.Errorf("parse read fault %q: %w", text, err)
	}
	return f, f.checkRead()
}

func parseFault(text string, times int) (Fault, error) {
	name, value, _ := strings.Cut(text, ":")
	f := Fault{Kind: FaultKind(name), Times: times}
	var err error
	switch f.Kind {
	case Slow, CommitThenSlow, Lag:
		f.Delay, err = time.ParseDuration(value)
	case AnswerStatus, StoredStatus:
		f.Status, err = strconv.Atoi(value)
	default:
		if name != text {
			err = fmt.Errorf("%s takes no value", name)
		}
		if text == "" && times >= 0 {
			f.Times = 0 // there is nothing to count down
		}
	}
	return f, err
}

func (f Fault) checkWrite() error {
	if f.Kind == Lag {
		return fmt.Errorf("check fault: lag is a fault of reads")
	}
	return f.check()
}

func (f Fault) checkRead() error {
	switch f.Kind {
	case NoFault, AnswerStatus, Lag:
		return f.check()
	default:
		return fmt.Errorf("check read fault: %q is not status or lag", f.Kind)
	}
}

func (f Fault) check() error {
	if f.Times < 0 {
		return fmt.Errorf("check fault: times is %d, which is less than 0", f.Times)
	}
	switch f.Kind {
	case NoFault, CommitThenDrop, DropBeforeCommit:
		return nil
	case Slow, CommitThenSlow, Lag:
		if f.Delay <= 0 || f.Delay > maxDelay {
			return fmt.Errorf("check fault: duration %s of %s is not between 0 and %s", f.Delay, f.Kind, maxDelay)
		}
		return nil
	case AnswerStatus, StoredStatus:
		if f.Status < 400 || f.Status > 599 {
			return fmt.Errorf("check fault: status %d is not between 400 and 599", f.Status)
		}
		return nil
	default:
		return fmt.Errorf("check fault: there is no fault %q", f.Kind)
	}
}

// faultPlan hands a fault to the requests it is meant for and to no more. The zero value has no fault.
// It is safe for concurrent use.
type faultPlan struct {
	mu    sync.Mutex
	fault Fault
}

func (p *faultPlan) set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

func (p *faultPlan) get() Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// take counts one request. The last one of a limited fault lifts it.
func (p *faultPlan) take() Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fault
	switch f.Times {
	case 0:
	case 1:
		p.fault = Fault{}
	default:
		p.fault.Times--
	}
	return f
}
