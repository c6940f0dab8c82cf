package workflows

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// A run that is left without a route has failed by itself only where each resource that
// refused it serves others.
func TestWhoseFaultIsARunWithoutARoute(t *testing.T) {
	route := func(resource, model string) onceward.Route {
		return onceward.Route{Resource: resource, Model: model, MaxOutputTokens: 100}
	}
	excluded := func(resource string) onceward.Dropped {
		return onceward.Dropped{Resource: resource, Model: "m", Step: "excluded"}
	}
	permission, server, invalid := failure(onceward.ClassPermission), failure(onceward.ClassServerError), failure(onceward.ClassInvalidRequest)
	for name, c := range map[string]struct {
		failures map[string]onceward.Failure
		judged   map[string]onceward.Judged
		dropped  []onceward.Dropped
		own      bool
	}{
		"refused by both, both acquitted": {
			failures: map[string]onceward.Failure{"a": permission, "b": permission},
			judged:   map[string]onceward.Judged{"a": onceward.JudgedAcquitted, "b": onceward.JudgedAcquitted},
			dropped:  []onceward.Dropped{excluded("a"), excluded("b")}, own: true,
		},
		"one of them convicted": {
			failures: map[string]onceward.Failure{"a": permission, "b": permission},
			judged:   map[string]onceward.Judged{"a": onceward.JudgedAcquitted, "b": onceward.JudgedConvicted},
			dropped:  []onceward.Dropped{excluded("a"), excluded("b")},
		},
		"one of them not judged in time": {
			failures: map[string]onceward.Failure{"a": permission, "b": permission},
			judged:   map[string]onceward.Judged{"a": onceward.JudgedAcquitted},
			dropped:  []onceward.Dropped{excluded("a"), excluded("b")},
		},
		"another is disabled": {
			failures: map[string]onceward.Failure{"a": permission},
			judged:   map[string]onceward.Judged{"a": onceward.JudgedAcquitted},
			dropped:  []onceward.Dropped{excluded("a"), {Resource: "b", Step: "disabled"}},
		},
		"another cannot serve the task at all": {
			failures: map[string]onceward.Failure{"a": permission},
			judged:   map[string]onceward.Judged{"a": onceward.JudgedAcquitted},
			dropped:  []onceward.Dropped{excluded("a"), {Resource: "b", Step: "requirements"}}, own: true,
		},
		"a suspect that would be asked again says nothing": {
			failures: map[string]onceward.Failure{"a": server, "b": permission},
			judged:   map[string]onceward.Judged{"b": onceward.JudgedAcquitted},
			dropped:  []onceward.Dropped{excluded("b")}, own: true,
		},
		"a failure without an effect is no suspicion": {
			failures: map[string]onceward.Failure{"a": invalid},
			dropped:  []onceward.Dropped{excluded("a")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Run{}
			for _, resource := range []string{"a", "b"} {
				f, failed := c.failures[resource]
				if !failed {
					continue
				}
				f.Resource = resource
				r.suspect(route(resource, "m"), f, time.Unix(1, 0))
				again := f
				again.Message = "later"
				r.suspect(route(resource, "m"), again, time.Unix(2, 0))
			}
			var verdicts []onceward.RouteVerdict
			for resource, judged := range c.judged {
				verdicts = append(verdicts, onceward.RouteVerdict{Resource: resource, Model: "m", Judged: judged})
			}
			r.judged(verdicts)
			got := r.ownFault(c.dropped)
			if (got != nil) != c.own {
				t.Fatalf("own fault %+v", got)
			}
			if got != nil && got.Message == "later" {
				t.Error("the first failure is forgotten")
			}
			for _, s := range r.unjudged() {
				if s.Since != time.Unix(2, 0) || s.Limit != 100 {
					t.Errorf("asked about %+v", s)
				}
			}
		})
	}
}
