package health

import "sync"

// Poison finds payloads that fail inside on more than one resource. Such a
// failure is the payload's, so its marks are taken back. Make it with NewPoison.
type Poison struct {
	size int

	mu    sync.Mutex
	seen  map[string]*payload
	order []string
}

type payload struct {
	resource string
	several  bool
	undo     []func()
}

// NewPoison remembers the last size payloads.
func NewPoison(size int) *Poison {
	return &Poison{size: size, seen: map[string]*payload{}}
}

// Failed records that a payload got a 5xx from resource; undo takes its mark
// back. From the second resource on all marks of the payload are undone.
func (p *Poison) Failed(key, resource string, undo func()) (takenBack bool) {
	p.mu.Lock()
	e := p.seen[key]
	if e == nil {
		e = &payload{resource: resource}
		p.seen[key] = e
		p.order = append(p.order, key)
		if len(p.order) > p.size {
			delete(p.seen, p.order[0])
			p.order = p.order[1:]
		}
	}
	e.several = e.several || e.resource != resource
	e.undo = append(e.undo, undo)
	if !e.several {
		p.mu.Unlock()
		return false
	}
	all := e.undo
	e.undo = nil
	p.mu.Unlock()
	for _, f := range all {
		f()
	}
	return true
}
