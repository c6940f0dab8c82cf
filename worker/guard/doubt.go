package guard

import (
	"crypto/sha256"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/onceward/onceward"
)

const (
	// doubtFor is how long a sender's payload has to fail with an unmarked error,
	// while a control passes beside it, before the payload is held to be at fault and
	// not the codec: a key service may be down for one key, or fail now and then.
	doubtFor = 5 * time.Second
	// provenFor is how long the same error needs no further doubt: of many signals
	// under a key that nobody has, each would hold up those after it.
	provenFor = time.Minute
	// most bounds what is remembered.
	most = 1000
)

// doubts is what a client's converters remember of payloads that do not decode. Its
// zero value is ready; it is safe for concurrent use.
type doubts struct {
	mu     sync.Mutex
	since  map[[sha256.Size]byte]time.Time // by payload
	proven map[string]time.Time            // by error
}

// over reports whether a payload has failed for long enough.
func (d *doubts) over(payloads []*commonpb.Payload, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, id, why := time.Now(), sum(payloads), onceward.Cut(err.Error(), 300)
	begun, known := d.since[id]
	last, ok := d.proven[why]
	switch {
	case ok && now.Sub(last) < provenFor, known && now.Sub(begun) >= doubtFor:
		d.proven = remember(d.proven, why, now)
		return true
	case !known:
		d.since = remember(d.since, id, now)
	}
	return false
}

// remember forgets all when there is too much: those are doubted anew.
func remember[K comparable](m map[K]time.Time, key K, at time.Time) map[K]time.Time {
	if m == nil || len(m) >= most {
		m = map[K]time.Time{}
	}
	m[key] = at
	return m
}

func sum(payloads []*commonpb.Payload) (id [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range payloads {
		one := sha256.Sum256(p.GetData())
		h.Write(one[:])
	}
	h.Sum(id[:0])
	return id
}

// hopeless reports whether no later try will decode what somebody sent. A replay
// knows from the history what became of a signal, and need not wait.
func (g *Converter) hopeless(to []any, payloads []*commonpb.Payload, err error) bool {
	if g.control() != nil {
		return false
	}
	return rawOf(to) != nil && g.replayed != nil && g.replayed() || g.doubts.over(payloads, err)
}

func (g *Converter) control() error {
	var back string
	p, err := g.inner.ToPayload("onceward")
	if err != nil {
		return err
	}
	return g.inner.FromPayload(p, &back)
}
