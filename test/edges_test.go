package test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// chatted says of every resource that it speaks Chat Completions.
func chatted(t *testing.T) func(string) string {
	return swap(t, "encrypted_reasoning: true", "encrypted_reasoning: false", "kind: openai\n", "kind: openai\n      api: chat_completions\n", "      encryption_boundary: one\n", "")
}

// inChat makes every resource of the pool speak Chat Completions.
func inChat(cfg *routertest.Config) {
	for i := range cfg.Resources {
		cfg.Resources[i].API, cfg.Resources[i].EncryptionBoundary = routertest.APIChatCompletions, ""
	}
}

// A host refuses the ids of what it did not mint itself. The turn is repaired once,
// the trail says by what, and the turns that follow are not refused again.
func TestRefusedIDsCostOneAttempt(t *testing.T) {
	itemID, callID, strictID := regexp.MustCompile(`"id":"(fc|rs|msg)_`), regexp.MustCompile(`"tool_call_id":"([^"]*)"`), regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	for name, row := range map[string]struct {
		chat    bool
		refusal string
		refuses func(routertest.Request) bool
	}{
		"E16 ids of items: refused once, left out from then on": {
			refusal: `{"error":{"message":"Invalid 'input[1].id': 'rs_1'. Expected an ID that begins with 'item'.","type":"invalid_request_error","param":"input[1].id","code":"invalid_value"}}`,
			refuses: func(r routertest.Request) bool { return itemID.Match(r.Raw) },
		},
		"E16 ids of calls in a chat: refused once, in the strictest form from then on": {
			chat:    true,
			refusal: `{"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_request_error","code":3280}`,
			refuses: func(r routertest.Request) bool {
				id := callID.FindSubmatch(r.Raw)
				return id != nil && !strictID.Match(id[1])
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Faults: []routertest.Fault{{Kind: routertest.FaultStatus, Status: 400, Body: row.refusal, When: row.refuses}}}
			config := func(b *harness.Bench) string { return b.Config() }
			if row.chat {
				o.Pool = inChat
				config = func(b *harness.Bench) string { return b.OtherConfig(chatted(t)) }
			}
			b := harness.New(t, o)
			b.StartWorker(false, "--config="+config(b))
			order := b.Order()
			run := b.StartRefund("run", order)
			_, chain := b.Check(run, order, harness.Want{Outcome: onceward.OutcomeCompleted, Refunds: 1, Posts: 1, Text: "rf-000001"})
			attempts := b.Attempts(chain)
			if len(attempts) != 4 {
				t.Fatalf("%d attempts for 3 turns, want one more", len(attempts))
			}
			for i, want := range []onceward.Repair{"", "", onceward.RepairStripIDs, onceward.RepairStripIDs} {
				if a := attempts[i]; a.Input.Repair != want || (a.Failure != nil) != (i == 1) {
					t.Errorf("attempt %d was made with the repair %q and failed with %v, want %q", i+1, a.Input.Repair, a.Failure, want)
				}
			}
			if f := attempts[1].Failure; f == nil || f.Class != onceward.ClassInvalidRequest || f.Repair != onceward.RepairStripIDs || f.StateEffect != onceward.EffectNone {
				t.Errorf("the refusal is %+v, want invalid_request that strip_ids repairs", f)
			}
			records := harness.Until(b, run.ID, onceward.QueryAttempts, "four attempts", func(list []onceward.AttemptRecord) bool { return len(list) == 4 })
			if records[1].Failure == nil || records[1].Failure.Repair != onceward.RepairStripIDs || records[2].Repair != onceward.RepairStripIDs {
				t.Errorf("the trail says %+v, then %+v, want strip_ids in both", records[1].Failure, records[2])
			}
		})
	}
}

// What a selection dropped every candidate for reaches the run's result.
func TestCauseOfASelectionReachesTheResult(t *testing.T) {
	for name, row := range map[string]struct {
		window  int            // of every candidate; 0: the harness's own
		earlier *met           // what an earlier run has met at every candidate
		class   onceward.Class // of the failure
		tells   string
		needs   bool // the failure names the tokens
	}{
		"E20 every candidate is too small":                  {window: 3000, class: onceward.ClassContextLength, tells: "no candidate takes more than 3000", needs: true},
		"E20 every candidate's quota was used up before it": {earlier: new(faultsMet["402"]), class: faultsMet["402"].class, tells: "since "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Model: speaks("fine")})
			config := b.Config()
			if row.window > 0 {
				config = b.OtherConfig(swap(t, "max_input_tokens: 8000000", fmt.Sprintf("max_input_tokens: %d", row.window)))
			}
			b.StartWorker(false, "--config="+config)
			if row.earlier != nil {
				if err := b.Pool.AddFaults(row.earlier.fault); err != nil {
					t.Fatal(err)
				}
				b.Start("earlier", "ReaderWorkflow", "Say something.").Result()
			}
			before := b.Pool.Attempts()
			result := b.Start("run", "ReaderWorkflow", "Say something about "+strings.Repeat("this ", 6000)).Result()
			if n := b.Pool.Attempts() - before; result.Outcome != onceward.OutcomeUnavailable || !strings.HasPrefix(result.Reason, "no route is left: ") || n != 0 || result.Use.Attempts != 0 {
				t.Errorf("outcome %s (%s) after %d requests, want unavailable without any", result.Outcome, result.Reason, n)
			}
			f := result.Failure
			if f == nil || f.Class != row.class || !strings.Contains(f.Message, row.tells) || f.Available != row.window || (f.Needed > row.window) != row.needs {
				t.Errorf("the failure is %+v, want %s that says %q", f, row.class, row.tells)
			}
		})
	}
}

// A refund that its host itself calls cut: every answer, at every resource and at a
// larger limit. Payments is never asked.
func TestCutCallIsNotCarriedOut(t *testing.T) {
	arguments := func(b *harness.Bench) string {
		return inString(fmt.Sprintf(`{"order_id":"%s","amount_cents":%d,"reason":"It never arrived."}`, b.Order(), b.Amount(b.Order())))
	}
	response := func(status, itemStatus string, used int) func(*harness.Bench) string {
		return func(b *harness.Bench) string {
			return fmt.Sprintf(`{"id":"resp_raw","object":"response","created_at":1,"status":%q,"model":"gpt-5.6","output":[{"type":"function_call","id":"fc_1","call_id":"call_1","name":"create_refund","status":%q,"arguments":"%s"}],"usage":{"input_tokens":10,"output_tokens":%d,"total_tokens":%d}}`,
				status, itemStatus, arguments(b), used, used+10)
		}
	}
	streamed := func(body func(*harness.Bench) string) func(*harness.Bench) string {
		return func(b *harness.Bench) string {
			return "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":0,\"response\":" + body(b) + "}\n\n"
		}
	}
	cutChat := func(b *harness.Bench) string {
		return fmt.Sprintf(`{"id":"c_1","object":"chat.completion","created":1,"model":"gpt-5.6","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"create_refund","arguments":"%s"}}]},"finish_reason":"length"}],"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}}`, arguments(b))
	}
	const limit = 4000 // of the task
	for name, row := range map[string]struct {
		bodies []func(*harness.Bench) string // each once, the last for ever
		stream bool
		chat   bool
		class  onceward.Class
	}{
		"E09 a call that is marked incomplete":                  {bodies: []func(*harness.Bench) string{response("completed", "incomplete", 10)}, class: onceward.ClassInvalidOutput},
		"E09 a call that is marked in progress, streamed":       {bodies: []func(*harness.Bench) string{streamed(response("completed", "in_progress", 10))}, stream: true, class: onceward.ClassInvalidOutput},
		"E06 a call at the output limit, and again at a larger": {bodies: []func(*harness.Bench) string{response("completed", "completed", limit), response("completed", "completed", 2*limit)}, class: onceward.ClassIncompleteOutput},
		"E09 a call in a chat that ended for its length":        {bodies: []func(*harness.Bench) string{cutChat}, chat: true, class: onceward.ClassIncompleteOutput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Attempts: 5}
			if row.chat {
				o.Pool = inChat
			}
			b := harness.New(t, o)
			order := b.Order()
			kind := map[bool]string{false: "application/json", true: "text/event-stream"}[row.stream]
			for i, body := range row.bodies {
				fault := routertest.Fault{Kind: routertest.FaultStatus, Status: 200, Header: map[string]string{"Content-Type": kind}, Body: body(b), Match: routertest.Match{Turn: routertest.At(1)}}
				if i < len(row.bodies)-1 {
					fault.Times = 1
				}
				if err := b.Pool.AddFaults(fault); err != nil {
					t.Fatal(err)
				}
			}
			config := b.Config()
			if row.chat {
				config = b.OtherConfig(chatted(t))
			}
			b.StartWorker(false, "--config="+config)
			run := b.StartRefund("run", order)
			result := run.Result()
			if result.Outcome == onceward.OutcomeCompleted || len(result.Actions) != 0 || result.Failure == nil || result.Failure.Class != row.class {
				t.Errorf("outcome %s (%s, %v) with the actions %+v, want none, for %s", result.Outcome, result.Reason, result.Failure, result.Actions, row.class)
			}
			if n := b.Pool.Attempts(); n < 3 {
				t.Errorf("%d requests, want the order to be read and the answer to be asked for again", n)
			}
			effects(t, b, order, 0, 0)
			for _, h := range run.Chain() {
				if err := h.Replay(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
