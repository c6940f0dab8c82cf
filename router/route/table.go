package route

import (
	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
)

// Resource is one resource as selection sees it. It must not change.
type Resource struct {
	Name, Account, Boundary, Region, SafetyPolicy string
	Weight                                        float64 // > 0
	MaxInFlight                                   int64   // 0: no limit
	Health                                        *health.Resource

	seed uint64
}

// Candidate is one model on one resource. It must not change.
type Candidate struct {
	*Resource
	Model, Deployment string
	Price             onceward.Price
	Capability        onceward.Capability
	Health            *health.Pair
}

// Table holds the candidates of a pool. Make it with NewTable; it is safe for
// concurrent use.
type Table struct {
	affinity bool
	byModel  map[string][]*Candidate
}

// NewTable returns the table of the candidates, kept in their order. With
// affinity a run stays with one resource, else load decides alone.
func NewTable(candidates []*Candidate, affinity bool) *Table {
	t := &Table{affinity: affinity, byModel: map[string][]*Candidate{}}
	for _, c := range candidates {
		c.seed = hash(0, c.Name)
		t.byModel[c.Model] = append(t.byModel[c.Model], c)
	}
	return t
}

// Find returns the candidate of a route, or nil.
func (t *Table) Find(resource, model string) *Candidate {
	for _, c := range t.byModel[model] {
		if c.Name == resource {
			return c
		}
	}
	return nil
}
