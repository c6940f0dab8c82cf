package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestE36ConflictIsNeitherMadeNorRefused(t *testing.T) {
	conflict := onceward.Conflict("the key bears other content")
	for name, c := range map[string]struct {
		product product
		commits int // activities
	}{
		"E36 the product answers the commit with a conflict: a person decides": {
			product{commits: []onceward.Receipt{conflict}, finds: []onceward.Receipt{onceward.Committed("of another")}}, 1},
		"E36 the read before the commit finds a conflict: nothing is sent": {
			product{commits: []onceward.Receipt{conflict}, before: true, finds: []onceward.Receipt{nothing}}, 1},
		"E36 the read after an unclear commit finds a conflict: nothing is sent again": {
			product{commits: []onceward.Receipt{lost}, finds: []onceward.Receipt{nothing, conflict, nothing}}, 1},
		"E36 the second commit meets a conflict: there is no third": {
			product{commits: []onceward.Receipt{lost, conflict}, finds: []onceward.Receipt{nothing}}, 2},
		"E36 the product accepts, and its read finds a conflict": {
			product{commits: []onceward.Receipt{onceward.Accepted("p1")}, finds: []onceward.Receipt{onceward.Accepted("p1"), conflict}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.product
			got := play(t, &p, actionPolicy(func(p *onceward.WritePolicy) { p.Keyed = true }))
			if got.Status != onceward.StateAwaitingOperator || !strings.Contains(got.Reason, "the key bears other content") || len(p.committed) != c.commits {
				t.Errorf("receipt %+v after %d commits, want that a person is asked why after %d", got, len(p.committed), c.commits)
			}
			if p.before && got.Commits != 0 {
				t.Errorf("%d commits are counted, nothing was sent", got.Commits)
			}
		})
	}
}

func TestE36FailureThatIsStoredUnderTheKeyGoesToAPerson(t *testing.T) {
	failed := func(status string) onceward.Receipt { return onceward.Receipt{Reason: status} }
	for name, c := range map[string]struct {
		commits []onceward.Receipt
		keyed   bool
		want    int
	}{
		"E36 the same failure twice: two commits, never five":       {[]onceward.Receipt{failed("status 500")}, true, 2},
		"E36 two failures that differ are two":                      {[]onceward.Receipt{failed("status 500"), failed("status 501"), onceward.Committed("r")}, true, 3},
		"E36 no answer in between proves nothing":                   {[]onceward.Receipt{failed("status 500"), lost, failed("status 500"), onceward.Committed("r")}, true, 4},
		"E36 answers that pass by themselves end with a person too": {[]onceward.Receipt{lost}, true, maxCommits},
		"E36 without a key there is nothing to store it under":      {[]onceward.Receipt{failed("status 500"), failed("status 500"), onceward.Committed("r")}, false, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := &product{commits: c.commits, finds: []onceward.Receipt{nothing}}
			got := play(t, p, actionPolicy(func(p *onceward.WritePolicy) { p.Keyed = c.keyed }))
			person := c.commits[len(c.commits)-1].Status == ""
			if (got.Status == onceward.StateAwaitingOperator) != person || len(p.committed) != c.want {
				t.Errorf("receipt %+v after %d commits, want %d", got, len(p.committed), c.want)
			}
		})
	}
}

// E39: the promise of the read does not prolong that of the key.
func TestE39KeyIsTrustedWithinItsLifeAlsoWhereSettleIsDeclared(t *testing.T) {
	p := &product{commits: []onceward.Receipt{lost}, finds: []onceward.Receipt{nothing}}
	policy := actionPolicy(func(p *onceward.WritePolicy) { p.Settle, p.Keyed = 30*time.Hour, true })
	got := play(t, p, policy)
	if got.Status != onceward.StateAwaitingOperator || len(p.committed) != 1 || !strings.Contains(got.Reason, "remembers a key for 24h") {
		t.Errorf("receipt %+v after %d commits, want that a person is asked after one", got, len(p.committed))
	}
	p = &product{commits: []onceward.Receipt{lost, onceward.Committed("r2")}, finds: []onceward.Receipt{nothing}}
	if got := play(t, p, actionPolicy(func(p *onceward.WritePolicy) { p.Settle = 30 * time.Hour })); got.Status != onceward.StateCommitted || len(p.committed) != 2 {
		t.Errorf("without a key: receipt %+v after %d commits, want committed by the second", got, len(p.committed))
	}
}
