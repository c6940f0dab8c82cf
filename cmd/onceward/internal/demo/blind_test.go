package demo

import (
	"net/http/httptest"
	"testing"

	"github.com/onceward/onceward/cmd/onceward/internal/local"
	"github.com/onceward/onceward/cmd/onceward/internal/shape"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
)

// The client must fail for the reason that the story tells, and for no other.
func TestBlindClientFailsBecauseStateIsElsewhere(t *testing.T) {
	t.Parallel()
	pool := routertest.Start(t, routertest.Config{
		Model: lookUpModel(), Resources: []routertest.Resource{{Name: "A", Deployments: []string{local.Model}}, {Name: "B"}, {Name: "C"}},
	})
	service, err := payments.New(payments.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service.Handler())
	t.Cleanup(func() { server.Close(); _ = service.Close() })
	var members []router.Resource
	for _, r := range pool.Resources() {
		members = append(members, router.Resource{Name: r.Name(), BaseURL: r.URL()})
	}
	b := newBlind(members, payments.NewClient(server.URL, nil))
	var turns []shape.Turn
	for i := range 3 {
		asked, err := b.stored(t.Context(), request("test", i))
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, asked...)
	}
	s := shape.Of(3, turns)
	if s.Requests != 12 || s.Failed != 6 || s.Attempts[2].Answered != 3 || len(s.Resources[0].Classes) != 1 || s.Resources[0].Classes["resource_affinity"] != 2 {
		t.Errorf("%+v", s)
	}
	pool.ForgetRequests()
	if err := b.stateless(t.Context(), []string{request("test", 3), request("test", 4)}); err != nil {
		t.Fatal(err)
	}
	if n := pool.Attempts(); n != 4 {
		t.Errorf("%d requests without state, want one a turn", n)
	}
	for _, r := range pool.Requests() {
		if r.Stored() || !r.Outcome.Complete {
			t.Errorf("request %d: stored %t, outcome %+v", r.Seq, r.Stored(), r.Outcome)
		}
	}
}
