package routertest

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
)

// answers is what a caching gateway keeps. The zero value is empty.
type answers struct {
	mu    sync.Mutex
	kept  map[[32]byte]keptAnswer
	bytes int
}

type keptAnswer struct {
	contentType string
	body        []byte
}

func (c *answers) find(key [32]byte) (keptAnswer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.kept[key]
	return a, ok
}

// put keeps an answer while there is room.
func (c *answers) put(key [32]byte, a keptAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes+len(a.body) > maxStoreBytes {
		return
	}
	if c.kept == nil {
		c.kept = map[[32]byte]keptAnswer{}
	}
	c.bytes += len(a.body) - len(c.kept[key].body)
	c.kept[key] = a
}

// cached answers by the gateway before the resource, if one is set and has
// answered an equal body before. Otherwise the answer to come will be kept.
func (x *exchange) cached(req Request, as sent) bool {
	f := x.s.pool.faults.pick(req, as, []FaultKind{FaultCache})
	if f == nil {
		return false
	}
	x.gate, x.gateKey = f, sha256.Sum256(slices.Concat([]byte(req.Resource+"\n"+req.Path+"\n"), as.body))
	if f.HonourNoCache && strings.Contains(strings.ToLower(strings.Join(as.header.Values("Cache-Control"), ",")), "no-cache") {
		return false
	}
	a, ok := f.answers.find(x.gateKey)
	if !ok {
		return false
	}
	x.outcome(func(o *Outcome) { o.Fault, o.CacheHit = FaultCache, true })
	x.send(200, a.contentType, a.body)
	return true
}

// cache keeps the answer in the gateway. It comes before the end of the answer
// is sent: a client that asks again at once must find it. What was spoilt by a
// fault is passed on but not kept.
func (x *exchange) cache(f *activeFault, contentType string, body []byte) {
	if x.gate == nil || slices.Contains([]FaultKind{FaultFailed, FaultErrorEvent, FaultNoTerminal, FaultBrokenEvent, FaultTwoTerminals}, f.Kind) {
		return
	}
	x.gate.answers.put(x.gateKey, keptAnswer{contentType, slices.Clone(body)})
}
