package judges

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// What a worker sends in whole runs, with the schemas that it makes of Go types
// and the repairs that a run decides on.
func TestCorpusRequestsOfWholeRunsAreWhatTheDocumentsSay(t *testing.T) {
	t.Parallel()
	jury := newJury(t)
	sealed := `{"error":{"message":"The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`
	missing := `{"error":{"message":"No tool output found for function call call_1.","type":"invalid_request_error","param":"input","code":null}}`
	foreign := `{"error":{"message":"The requested item was created under a different Azure OpenAI resource. Use the same resource that created the item to access it.","type":"invalid_request_error","param":null,"code":null}}`
	second := routertest.Match{Turn: routertest.At(1)}
	for name, faults := range map[string][]routertest.Fault{
		"well":               nil,
		"overloaded":         {routertest.FailWith(503, "").For(2)},
		"sealed elsewhere":   {{Kind: routertest.FaultStatus, Status: 400, Body: sealed, Match: second, Times: 2}},
		"output missing":     {{Kind: routertest.FaultStatus, Status: 400, Body: missing, Match: second, Times: 1}},
		"of another account": {{Kind: routertest.FaultStatus, Status: 400, Body: foreign, Match: second, Times: 2}},
		"cut at the limit":   {{Kind: routertest.FaultIncomplete, Times: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			b := harness.New(t, harness.Options{Faults: faults})
			b.StartWorker(true)
			order := b.Order()
			result := b.StartRefund("run", order).Result()
			if result.Outcome != onceward.OutcomeCompleted || !strings.Contains(result.Text, "status committed") {
				t.Errorf("the run ended as %s: %q", result.Outcome, result.Text)
			}
			for _, q := range b.Pool.Requests() {
				jury.request(q.Raw)
				if q.Outcome.Fault == "" && q.Outcome.Status != 200 {
					t.Errorf("request %d was answered %d: %s", q.Seq, q.Outcome.Status, q.Outcome.Error)
				}
			}
			t.Logf("%d requests", b.Pool.Attempts())
		})
	}
	jury.verdict(t, jury.drawn(requestDeviations)) // the other test draws all of them
}
