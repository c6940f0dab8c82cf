package onceward_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestClassTableIsConsistent(t *testing.T) {
	rules := onceward.Classes()
	if got := rules[len(rules)-1].Class; got != onceward.ClassUnknown {
		t.Fatalf("the last row is %s: an undeclared class would get its consequences", got)
	}
	seen := map[onceward.Class]bool{}
	for _, r := range rules {
		if seen[r.Class] {
			t.Errorf("%s has two rows", r.Class)
		}
		seen[r.Class] = true
		if r.Meaning == "" || r.Scope == "" || r.StateEffect == "" || r.Exclude == "" {
			t.Errorf("%s: its row is not complete: %+v", r.Class, r)
		}
		if r.Final && r.FallbackEligible {
			t.Errorf("%s is final and lets the walk go on", r.Class)
		}
		if r.Scope == onceward.ScopeRequest && r.StateEffect != onceward.EffectNone && r.StateEffect != onceward.EffectDropAnchor {
			t.Errorf("%s: a fault of the request changes health (%s)", r.Class, r.StateEffect)
		}
	}
	if onceward.Class("invented").Rule().Class != onceward.ClassUnknown || onceward.Class("invented").Known() {
		t.Error("an invented class is not treated as unknown")
	}
}

func TestFailureFitsErrorDetails(t *testing.T) {
	f := onceward.NewFailure(onceward.ClassServerError, onceward.PhaseSent, strings.Repeat("ü", 2000))
	f.ProviderRequestID, f.Resource, f.Deployment = strings.Repeat("r", 100), strings.Repeat("n", 64), strings.Repeat("d", 64)
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 2048 {
		t.Errorf("%d bytes: the server cuts details while it retries", len(raw))
	}
	if strings.ContainsRune(f.Message, '\uFFFD') || len(f.Message) > onceward.MaxFailureMessage {
		t.Errorf("message of %d bytes was cut inside a character", len(f.Message))
	}
	if !errors.Is(f, &onceward.Failure{Class: onceward.ClassServerError}) || errors.Is(f, &onceward.Failure{Class: onceward.ClassBilling}) {
		t.Error("errors.Is does not match by class")
	}
}
