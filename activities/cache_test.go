package activities

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
)

// asked is a client whose run answers the transcript query, and counts what
// crosses the border for it.
type asked struct {
	client.Client
	items   []onceward.Item
	page    int // items of a page; 0: all
	queries int
	bytes   int
}

func (a *asked) QueryWorkflowWithOptions(_ context.Context, req *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	a.queries++
	q := req.Args[0].(onceward.TranscriptQuery)
	to := q.To
	if a.page > 0 {
		to = min(to, q.From+a.page)
	}
	answer, err := converter.GetDefaultDataConverter().ToPayloads(onceward.TranscriptPage{Items: a.items[q.From:to], Next: to, Length: len(a.items)})
	if err != nil {
		return nil, err
	}
	a.bytes += sizeOf(q) + len(answer.Payloads[0].Data)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(answer)}, nil
}

func sizeOf(v any) int {
	payload, err := converter.GetDefaultDataConverter().ToPayload(v)
	if err != nil {
		panic(err)
	}
	return len(payload.Data)
}

// transcriptOf returns a transcript of so many turns: reasoning, a call and its
// output, about 6 KB together.
func transcriptOf(t testing.TB, turns int) []onceward.Item {
	t.Helper()
	var items []onceward.Item
	for i := range turns {
		for _, raw := range []string{
			fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"%s"}`, i, strings.Repeat("g", 2000)),
			fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"c%d","name":"get_order","arguments":"{}"}`, i, i),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":"%s"}`, i, strings.Repeat("x", 4000)),
		} {
			item, err := onceward.NewItem([]byte(raw), "")
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, item)
		}
	}
	return items
}

func calling(items []onceward.Item) onceward.CallInput {
	return onceward.CallInput{
		Agent: "a", RunKey: "run", RunID: "3f0c9a4e-7a55-4a0d-9a3e-0d1f2b3c4d5e", Turn: 1, Attempt: 1, Length: len(items), Digest: chainOf(items),
		Manifest: items[0].Digest, Route: onceward.Route{Resource: "resource-a", Account: "account", Model: "m", Deployment: "deployment", Boundary: "boundary", Reason: "warm prompt cache"},
	}
}

func TestATurnAsksForNewItemsOnly(t *testing.T) {
	all := transcriptOf(t, 20)
	run := &asked{items: all, page: 4}
	a := &Activities{client: run, cache: newTranscripts(1 << 20)}
	for turn := 1; turn <= 20; turn++ {
		want := all[:turn*3]
		run.queries = 0
		got, err := a.load(context.Background(), "wf", calling(want))
		if err != nil || chainOf(got) != chainOf(want) || len(got) != len(want) {
			t.Fatalf("turn %d: %d items, %v", turn, len(got), err)
		}
		if run.queries != 1 {
			t.Errorf("turn %d: %d queries for 3 new items", turn, run.queries)
		}
		if _, err := a.load(context.Background(), "wf", calling(want)); err != nil || run.queries != 1 {
			t.Errorf("turn %d again: %d queries, %v", turn, run.queries, err)
		}
	}
	if got, want := a.cache.bytes, newTranscripts(1<<20).keep(all); got != want {
		t.Errorf("extended to %d bytes, put at once %d", got, want)
	}
}

// keep returns the bytes that the items take in an empty cache.
func (t *transcripts) keep(items []onceward.Item) int {
	t.put("run", items)
	return t.bytes
}

func TestAnotherBranchOfTheRunIsAskedForWhole(t *testing.T) {
	all := transcriptOf(t, 4)
	run := &asked{items: all}
	a := &Activities{client: run, cache: newTranscripts(1 << 20)}
	if _, err := a.load(context.Background(), "wf", calling(all[:6])); err != nil {
		t.Fatal(err)
	}
	other := append(transcriptOf(t, 1), transcriptOf(t, 3)...) // differs from its fourth item on
	run.items = other
	got, err := a.load(context.Background(), "wf", calling(other))
	if err != nil || chainOf(got) != chainOf(other) || run.queries != 3 {
		t.Fatalf("%d items, %d queries, %v", len(got), run.queries, err)
	}
	if got := a.cache.get("run", len(other), chainOf(other)); len(got) != len(other) {
		t.Errorf("%d cached items, want %d", len(got), len(other))
	}
}

func TestExtendRefusesWhatItDidNotHandOut(t *testing.T) {
	all := transcriptOf(t, 3)
	cache := newTranscripts(1 << 20)
	cache.put("run", all[:3:3])
	have := cache.get("run", 6, chainOf(all[:6]))
	copied := append([]onceward.Item(nil), have...)
	for name, got := range map[string][]onceward.Item{
		"an unknown run": cache.extend("other", have, all[3:6], chainOf(all[:6])),
		"a copy":         cache.extend("run", copied, all[3:6], chainOf(all[:6])),
		"nothing":        cache.extend("run", nil, all[3:6], chainOf(all[:6])),
		"a wrong digest": cache.extend("run", have, all[6:9], chainOf(all[:6])),
	} {
		if got != nil {
			t.Errorf("%s: %d items", name, len(got))
		}
	}
	if got := cache.extend("run", have, all[3:6], chainOf(all[:6])); len(got) != 6 {
		t.Errorf("what get returned: %d items", len(got))
	}
	if got := cache.extend("run", have, all[3:6], chainOf(all[:6])); got != nil {
		t.Errorf("a prefix that was extended meanwhile: %d items", len(got))
	}
}

func TestACacheThatGrowsStaysInItsBound(t *testing.T) {
	all := transcriptOf(t, 10)
	cache := newTranscripts(40 << 10)
	cache.put("old", all[:6])
	cache.put("run", all[:3:3])
	for n := 3; n < len(all); n += 3 {
		have := cache.get("run", n+3, chainOf(all[:n+3]))
		if cache.extend("run", have, all[n:n+3], chainOf(all[:n+3])) == nil {
			cache.put("run", all[:n+3])
		}
		if cache.bytes > cache.limit || cache.bytes < 0 {
			t.Fatalf("%d items: %d bytes, at most %d", n+3, cache.bytes, cache.limit)
		}
	}
	if got := cache.get("run", len(all), chainOf(all)); got != nil || cache.bytes != 0 {
		t.Errorf("a run above the bound: %d items, %d bytes", len(got), cache.bytes)
	}
}

func TestAttemptsOfOneRunMayLoadAtOnce(t *testing.T) {
	all := transcriptOf(t, 30)
	cache := newTranscripts(1 << 20)
	cache.put("run", all[:3:3])
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for n := 6; n <= len(all); n += 3 {
				want := chainOf(all[:n])
				have := cache.get("run", n, want)
				if len(have) < n {
					if full := cache.extend("run", have, all[len(have):n], want); full != nil {
						have = full
					} else {
						have = append(have[:len(have):len(have)], all[len(have):n]...)
					}
				}
				if chainOf(have) != want {
					t.Errorf("%d items: another transcript", n)
				}
			}
		})
	}
	wait.Wait()
}

// BenchmarkTranscript200Turns carries a run of 200 turns over the border between
// workflow and activity, as JSON: the input of CallModel, the query for what the
// worker has not seen, and the result with the turn's items. Beside it stands
// what the same run would move with the transcript in every input.
func BenchmarkTranscript200Turns(b *testing.B) {
	const turns = 200
	all := transcriptOf(b, turns)
	moved, last, fresh := 0, 0, 0
	b.ReportAllocs()
	for b.Loop() {
		run := &asked{items: all}
		a := &Activities{client: run, cache: newTranscripts(64 << 20)}
		moved = 0
		for turn := 1; turn <= turns; turn++ {
			before := run.bytes
			in := calling(all[:turn*3])
			if _, err := a.load(context.Background(), "wf", in); err != nil {
				b.Fatal(err)
			}
			last = run.bytes - before + sizeOf(in) + sizeOf(onceward.CallResult{Items: all[(turn-1)*3 : turn*3]})
			moved += last
		}
	}
	naive := 0
	for turn := 1; turn <= turns; turn++ {
		naive += sizeOf(all[:turn*3]) + sizeOf(onceward.CallResult{Items: all[(turn-1)*3 : turn*3]})
	}
	fresh = sizeOf(all[len(all)-3:])
	b.ReportMetric(float64(moved)/turns, "bytes/turn")
	b.ReportMetric(float64(last), "last-turn-bytes")
	b.ReportMetric(float64(last)/float64(fresh), "last-turn/new-items")
	b.ReportMetric(float64(naive)/float64(moved), "naive/ours")
}

// BenchmarkCacheTurn is what the cache does in the 200th turn of a run: the
// look-up, and the addition of three items; and what it would do if it took the
// transcript anew.
func BenchmarkCacheTurn(b *testing.B) {
	all := transcriptOf(b, 200)
	n := len(all) - 3
	digest := chainOf(all)
	b.Run("extend", func(b *testing.B) {
		cache := newTranscripts(64 << 20)
		cache.put("run", all[:n])
		bytes := cache.bytes
		b.ReportAllocs()
		for b.Loop() {
			have := cache.get("run", len(all), digest)
			if full := cache.extend("run", have, all[n:], digest); len(full) != len(all) {
				b.Fatalf("%d items", len(full))
			}
			v, _ := cache.runs.Get("run") // back to the turn before
			v.items, v.chains, v.bytes, cache.bytes = v.items[:n], v.chains[:n], bytes, bytes
		}
	})
	b.Run("put", func(b *testing.B) {
		cache := newTranscripts(64 << 20)
		b.ReportAllocs()
		for b.Loop() {
			cache.put("run", all)
		}
	})
}
