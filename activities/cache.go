package activities

import (
	"context"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
)

// queryDeadline bounds one page of the transcript query. Without it a run whose
// workflow worker is gone would hold the attempt for ten seconds a page.
const queryDeadline = 3 * time.Second

// transcripts keeps what this process has seen of the runs' transcripts, least
// recently used run dropped first, within a bound of bytes.
type transcripts struct {
	mu    sync.Mutex
	runs  *lru.LRU[string, *transcript]
	bytes int
	limit int
}

// transcript is a prefix of a run's items; chains[i] is the digest of items[:i+1].
type transcript struct {
	items  []onceward.Item
	chains []string
	bytes  int
}

// itemOverhead is what an item takes beside its bytes: its index and its digests.
const itemOverhead = 200

func newTranscripts(limit int) *transcripts {
	t := &transcripts{limit: limit}
	t.runs, _ = lru.NewLRU(1<<20, func(_ string, v *transcript) { t.bytes -= v.bytes }) // fails only for a size below 1
	return t
}

// get returns the cached prefix of a run that belongs to a transcript of the
// given length and digest, as far as it can be told: a prefix longer than length
// must match at length, or it is of another branch of the run (a reset).
func (t *transcripts) get(key string, length int, digest string) []onceward.Item {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.runs.Get(key)
	switch {
	case !ok:
		return nil
	case len(v.items) >= length && v.chains[length-1] == digest:
		return v.items[:length:length]
	case len(v.items) >= length:
		t.runs.Remove(key)
		return nil
	}
	return v.items[:len(v.items):len(v.items)]
}

// put keeps items, whose digest is known to be right.
func (t *transcripts) put(key string, items []onceward.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs.Remove(key)
	v := &transcript{items: items[:len(items):len(items)], chains: make([]string, len(items))} // the rest of the array is the caller's
	chain := ""
	for i, item := range items {
		chain = onceward.ChainDigest(chain, item)
		v.chains[i] = chain
		v.bytes += len(item.Raw) + itemOverhead
	}
	if v.bytes > t.limit {
		return
	}
	t.runs.Add(key, v)
	for t.bytes += v.bytes; t.bytes > t.limit; {
		t.runs.RemoveOldest()
	}
}

// extend adds fresh to the cached prefix have and returns both, when have is what
// get returned and the digest is right; else it returns nil. It costs what fresh
// costs: a run of many turns must not hash and copy all of them in every turn.
func (t *transcripts) extend(key string, have, fresh []onceward.Item, digest string) []onceward.Item {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.runs.Get(key)
	if !ok || len(have) == 0 || len(v.items) != len(have) || &v.items[0] != &have[0] {
		return nil // dropped, or extended by another attempt meanwhile
	}
	chain, chains, bytes := v.chains[len(have)-1], make([]string, 0, len(fresh)), 0
	for _, item := range fresh {
		chain = onceward.ChainDigest(chain, item)
		chains = append(chains, chain)
		bytes += len(item.Raw) + itemOverhead
	}
	if chain != digest {
		return nil
	}
	// Others may be reading a prefix: what is appended lies beyond all that get
	// has handed out.
	v.items, v.chains = append(v.items, fresh...), append(v.chains, chains...)
	v.bytes += bytes
	t.bytes += bytes
	if v.bytes > t.limit {
		t.runs.Remove(key)
	}
	for t.bytes > t.limit {
		t.runs.RemoveOldest()
	}
	return v.items[:len(v.items):len(v.items)]
}

// load returns the transcript an attempt was scheduled with: from the cache as
// far as it reaches, the rest from the run's own query. What comes back is
// proved by its digest.
func (a *Activities) load(ctx context.Context, workflowID string, in onceward.CallInput) ([]onceward.Item, error) {
	items := a.cache.get(in.RunKey, in.Length, in.Digest)
	if len(items) == in.Length {
		return items, nil
	}
	for range 2 {
		fresh, err := a.query(ctx, workflowID, in, len(items))
		if err != nil {
			return nil, err
		}
		if full := a.cache.extend(in.RunKey, items, fresh, in.Digest); full != nil {
			return full, nil
		}
		full := append(items[:len(items):len(items)], fresh...)
		if chainOf(full) == in.Digest {
			a.cache.put(in.RunKey, full)
			return full[:len(full):len(full)], nil
		}
		if len(items) == 0 {
			break
		}
		items = nil // the cached prefix is of another branch: ask for all of it
	}
	return nil, fmt.Errorf("load transcript: its digest is not the one the attempt was scheduled with")
}

// query asks the run for items[from:in.Length], page by page.
func (a *Activities) query(ctx context.Context, workflowID string, in onceward.CallInput, from int) ([]onceward.Item, error) {
	var items []onceward.Item
	for at := from; at < in.Length; at = from + len(items) {
		var page onceward.TranscriptPage
		pageCtx, cancel := context.WithTimeout(ctx, queryDeadline)
		answer, err := a.client.QueryWorkflowWithOptions(pageCtx, &client.QueryWorkflowWithOptionsRequest{
			WorkflowID: workflowID, RunID: in.RunID, QueryType: onceward.QueryTranscript,
			Args: []any{onceward.TranscriptQuery{From: at, To: in.Length}},
		})
		cancel()
		if err != nil {
			return nil, fmt.Errorf("query transcript from %d: %w", at, err)
		}
		if err := answer.QueryResult.Get(&page); err != nil {
			return nil, fmt.Errorf("decode transcript from %d: %w", at, err)
		}
		if len(page.Items) == 0 {
			return nil, fmt.Errorf("query transcript: the run has %d items, the attempt was scheduled with %d", page.Length, in.Length)
		}
		items = append(items, page.Items...)
	}
	return items, nil
}

func chainOf(items []onceward.Item) string {
	chain := ""
	for _, item := range items {
		chain = onceward.ChainDigest(chain, item)
	}
	return chain
}
