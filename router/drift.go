package router

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/route"
	"github.com/onceward/onceward/router/wire"
)

// drift compares what the members of a pool that serve one model tell of
// themselves: the model behind the name, the keys of the content filter, the
// quota limits. A difference is a notice in the trail, once for each pair of
// members and values, and never a failure. It is safe for concurrent use.
type drift struct {
	mu    sync.Mutex
	facts map[*route.Candidate][]fact
	told  map[string]bool
}

// maxTold bounds what is remembered of notices; past it they are told again.
const maxTold = 10_000

// fact is one thing a member says of itself. Empty values are unknown.
type fact struct{ name, value string }

func newDrift() *drift {
	return &drift{facts: map[*route.Candidate][]fact{}, told: map[string]bool{}}
}

// factsOf reads what an answer says of the member that gave it.
func factsOf(answer wire.Answer, h http.Header) []fact {
	return []fact{
		{"served model", answer.Model},
		{"filter keys", filterKeys(answer.Filters)},
		{"limit of requests", h.Get("X-Ratelimit-Limit-Requests")},
		{"limit of tokens", h.Get("X-Ratelimit-Limit-Tokens")},
	}
}

// learn keeps the facts of a member and returns a notice for each in which it
// differs from another member.
func (d *drift) learn(c *route.Candidate, peers []*route.Candidate, facts []fact) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Equal(d.facts[c], facts) {
		return nil
	}
	d.facts[c] = facts
	var notices []string
	for _, peer := range peers {
		theirs := d.facts[peer]
		if peer == c || peer.Model != c.Model || theirs == nil {
			continue
		}
		for i, mine := range facts {
			its := theirs[i]
			if mine.value == "" || its.value == "" || mine.value == its.value {
				continue
			}
			text := onceward.BreachMembers.Notice(fmt.Sprintf("%s of %s is %q on %s and %q on %s", mine.name, c.Model, mine.value, c.Name, its.value, peer.Name))
			if d.news(text) {
				notices = append(notices, text)
			}
		}
	}
	return notices
}

// first reports whether a notice is told for the first time.
func (d *drift) first(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.news(text)
}

// news is first for who holds the lock.
func (d *drift) news(text string) bool {
	if d.told[text] {
		return false
	}
	if len(d.told) >= maxTold {
		d.told = map[string]bool{}
	}
	d.told[text] = true
	return true
}

// filterKeys names the filters of an answer, without what they found in it.
func filterKeys(raw json.RawMessage) string {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	var filters []struct {
		Results map[string]json.RawMessage `json:"content_filter_results"`
		Source  string                     `json:"source_type"`
	}
	if json.Unmarshal(raw, &filters) != nil {
		return ""
	}
	var keys []string
	for _, f := range filters {
		for key := range f.Results {
			if name := strings.Trim(f.Source+"."+key, "."); !slices.Contains(keys, name) {
				keys = append(keys, name)
			}
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}
