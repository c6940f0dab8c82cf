package onceward

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What bounds a payload has to bound it for every text, and for every field that
// somebody adds later: the fields are filled by what the types have.
func TestEncodedIsAnUpperBound(t *testing.T) {
	texts := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "plain", strings.Repeat("\x00", 300), strings.Repeat("<", 300), strings.Repeat("\u2028", 300), "\xff\xfe", `"\`, "\x7f\b\f\n\r\t", "é漢😀"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		item := Item{Raw: json.RawMessage(`{"a":1}`)}
		fill(t, texts, reflect.ValueOf(&item).Elem())
		holds(t, item, item.Encoded(), receiptFrame)
		at := time.Date(2026, 11, 30, 1, 2, 3, 123456789, time.FixedZone("", 3600))
		receipt := ActionReceipt{Commits: 1 << 40, Reconciled: 1 << 40, Version: 1 << 60, More: 1 << 40, At: at}
		fill(t, texts, reflect.ValueOf(&receipt).Elem())
		if rapid.Bool().Draw(t, "reversed") {
			receipt.Reversal = &Reversal{At: at}
			fill(t, texts, reflect.ValueOf(receipt.Reversal).Elem())
		}
		for range rapid.IntRange(0, MaxPeople).Draw(t, "people") {
			a := Approver{At: at}
			fill(t, texts, reflect.ValueOf(&a).Elem())
			receipt.ApprovedBy = append(receipt.ApprovedBy, a)
		}
		holds(t, receipt, receipt.Encoded(), receiptFrame)
		most := 1 << 60
		failure := Failure{
			NotSent: true, Retryable: true, FallbackEligible: true, RetryAfter: 1 << 60, ResponseStarted: true, ProviderStateCreated: true, Needed: most, Available: most, HTTPStatus: most,
		}
		fill(t, texts, reflect.ValueOf(&failure).Elem())
		result := Result{Turns: most, Use: Use{Attempts: most, Reserved: 1 << 60, Spent: 1 << 60, Waited: 1 << 60}, More: most}
		fill(t, texts, reflect.ValueOf(&result).Elem())
		holds(t, result, result.Encoded(), resultFrame)
		result.Failure, result.Actions = &failure, []ActionReceipt{receipt, receipt}
		holds(t, result, result.Encoded(), resultFrame+failureFrame+2*receiptFrame)
		record := AttemptRecord{
			Turn: most, Attempt: most, Failure: &failure,
			Route:   &Route{InputTokens: most, MaxOutputTokens: most, Ceiling: 1 << 60, StripReasoning: true},
			Dropped: []Dropped{{Needed: most, Available: most, Causes: []Class{ClassContextLength}}},
			Settled: &Settlement{
				Usage: Usage{true, most, most, most, most, most}, Cost: 1 << 60, HTTPStatus: most, Duration: 1 << 60, ReasoningStripped: true,
			},
		}
		for _, part := range []any{&record, record.Route, &record.Dropped[0], record.Settled} {
			fill(t, texts, reflect.ValueOf(part).Elem())
		}
		holds(t, record, record.Encoded(), attemptFrame+failureFrame+droppedFrame)
	})
}

// fill sets every text and every list of texts of a struct.
func fill(t *rapid.T, texts *rapid.Generator[string], v reflect.Value) {
	for i := range v.NumField() {
		switch field := v.Field(i); {
		case field.Kind() == reflect.String:
			field.SetString(texts.Draw(t, v.Type().Field(i).Name))
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf(rapid.SliceOfN(texts, 0, 3).Draw(t, v.Type().Field(i).Name)))
		}
	}
}

// holds allows a bound that is a little more than what is written, and never less.
func holds(t *rapid.T, v any, bound, more int) {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw)+1 > bound { // and the comma of a list
		t.Errorf("%T takes %d bytes, its bound is %d: %s", v, len(raw), bound, raw)
	}
	if bound > len(raw)+more {
		t.Errorf("%T takes %d bytes, its bound of %d is far above", v, len(raw), bound)
	}
}

func TestLimitsAreResolvedOrRefused(t *testing.T) {
	for name, c := range map[string]struct {
		in, want TurnLimits
		refused  string
	}{
		"E26 nothing is said: the defaults":  {want: TurnLimits{128, 32, 4 << 20}},
		"one is said: the others by default": {in: TurnLimits{ReadsInFlight: 1}, want: TurnLimits{128, 1, 4 << 20}},
		"E26 the most":                       {in: TurnLimits{512, 64, 8 << 20}, want: TurnLimits{512, 64, 8 << 20}},
		"a call too many":                    {in: TurnLimits{Calls: 513}, refused: "Calls is 513"},
		"a read too many":                    {in: TurnLimits{ReadsInFlight: 65}, refused: "ReadsInFlight is 65"},
		"a byte too many":                    {in: TurnLimits{OutputBytes: 8<<20 + 1}, refused: "OutputBytes is"},
		"less than nothing":                  {in: TurnLimits{Calls: -1}, refused: "Calls is -1"},
	} {
		got, err := c.in.Resolve()
		switch {
		case c.refused == "" && (err != nil || got != c.want):
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: error %v, want %q", name, err, c.refused)
		}
	}
}

// A newer version is told before a field that has become another type ends the run.
func TestVersionIsReadBeforeTheRest(t *testing.T) {
	newer := `{"version":4,"agent":{"name":"a"},"models":"m","items":"gone","plan":7}`
	var plan Plan
	if err := json.Unmarshal([]byte(newer), &plan); err != nil || plan.Version != 4 || plan.Agent != "" {
		t.Errorf("E35 a plan of version 4 is read as %+v (%v), want its version alone", plan, err)
	}
	var start Start
	if err := json.Unmarshal([]byte(`{"request":null,"carry":`+newer+`}`), &start); err != nil || start.Carry == nil || start.Carry.Version != 4 {
		t.Errorf("E35 a carry of version 4 is read as %+v (%v), want its version alone", start.Carry, err)
	}
	for version := ManifestVersion - 1; version <= ManifestVersion; version++ {
		raw, err := json.Marshal(Plan{Version: version, Agent: "a", Limits: TurnLimits{1, 2, 3}})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &plan); err != nil || plan.Version != version || plan.Agent != "a" || plan.Limits.OutputBytes != 3 {
			t.Errorf("E35 a plan of version %d is read as %+v (%v)", version, plan, err)
		}
	}
	for name, c := range map[string]struct {
		raw  string
		into any
		want any
	}{
		"E35 what a pool carries":      {`{"version":4,"pool":7,"health":"gone"}`, &PoolInput{}, &PoolInput{Version: 4}},
		"E35 a proposal":               {`{"version":4,"policy":"gone","args":1}`, &ActInput{}, &ActInput{Version: 4}},
		"E35 the input of an action":   {`{"act":{"version":4,"tool":7},"resolve":"gone"}`, &ActionInput{}, &ActionInput{Act: ActInput{Version: 4}}},
		"E35 the input of a commit":    {`{"version":4,"action":"gone"}`, &CommitInput{}, &CommitInput{Version: 4}},
		"a pool of an earlier build":   {`{"pool":"p","services":null,"health":{"version":5,"disabled":null}}`, &PoolInput{}, &PoolInput{Pool: "p", Health: PoolHealth{Version: 5}}},
		"a pool of this one":           {`{"version":1,"pool":"p"}`, &PoolInput{}, &PoolInput{Version: 1, Pool: "p"}},
		"an action of this one":        {`{"act":{"version":2,"tool":"t"},"commits":3}`, &ActionInput{}, &ActionInput{Act: ActInput{Version: 2, Tool: "t"}, Commits: 3}},
		"a commit of an earlier build": {`{"run_id":"r"}`, &CommitInput{}, &CommitInput{RunID: "r"}},
	} {
		if err := json.Unmarshal([]byte(c.raw), c.into); err != nil || !reflect.DeepEqual(c.into, c.want) {
			t.Errorf("%s is read as %+v (%v), want %+v", name, c.into, err, c.want)
		}
	}
	if err := json.Unmarshal([]byte(`{"version":1,"agent":7}`), &plan); err == nil {
		t.Error("a plan of a version we know was read although its agent is a number")
	}
}
