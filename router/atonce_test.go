package router

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
)

// disturb does one of what can happen to a pair at any time.
func (l *lab) disturb(name string, what int, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	req := request(l.t, forced(name))
	switch what {
	case 0:
		_ = l.r.Disable(name, "m", "an operator", time.Now().Add(d))
	case 1:
		_ = l.r.Enable(name, "m")
	case 2:
		l.r.Adopt(name, "m", health.Disabled{Reason: "of the record", Since: time.Now(), Until: time.Now().Add(d)})
	case 3:
		_, _ = l.r.Test(ctx, name, "m", 0)
	case 4:
		l.r.Verdicts(ctx, []onceward.SuspectRoute{{Resource: name, Model: "m", Since: time.Now()}}, true)
	case 5:
		defer func() { _ = recover() }()
		req.Progress = func(onceward.Phase, int) { panic("of a callback") }
		_, _ = l.r.Call(ctx, req)
	case 6:
		_, _ = l.r.Call(ctx, req) // its caller gives up
	default:
		l.ask(fmt.Sprint(name, what, d), "x")
	}
}

// Whatever happens at once, no place in flight, no trial and no grant is lost, and all
// pairs come back.
func TestNothingIsLostWhateverHappensAtOnce(t *testing.T) {
	names := []string{"a", "b", "c"}
	inLab(t, names, func(c *Config) {
		for i := range c.Resources {
			c.Resources[i].MaxInFlight, c.Resources[i].Quota.RequestsPerMinute = 5, 6000
		}
		c.Resources[0].Account, c.Resources[1].Account = "one", "one"
	}, func(l *lab) {
		var mu sync.Mutex
		random := rand.New(rand.NewSource(1))
		pick := func(n int) int { mu.Lock(); defer mu.Unlock(); return random.Intn(n) }
		answers := []answerer{
			fine, fine, fine, always(500, internal), always(402, noMoney), always(401, badKey), always(400, missingOutput), always(503, ""),
			func(asked, int) (int, map[string]string, string) {
				return 429, map[string]string{"Retry-After": "300"}, tooMany
			},
		}
		for _, name := range names {
			l.set(name, func(q asked, n int) (int, map[string]string, string) {
				<-time.After(time.Duration(pick(3000)) * time.Millisecond)
				return answers[pick(len(answers))](q, n)
			})
		}
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				for range 20 {
					l.disturb(names[pick(3)], pick(20), time.Duration(1+pick(4000))*time.Millisecond)
					<-time.After(time.Duration(pick(2000)) * time.Millisecond)
				}
			})
		}
		all.Wait()
		for _, name := range names {
			l.set(name, fine)
			_ = l.r.Enable(name, "m")
		}
		for range 900 {
			for _, name := range names { // each is wanted
				l.r.Select(onceward.RouteRequest{RunKey: "r", Turn: 1, Models: []string{"m"}, Resources: []string{name}})
			}
			l.settle(time.Second)
		}
		for _, c := range l.r.all {
			if f := l.call(c.Name, "the last", "x"); f != nil || c.Resource.Health.InFlight.Load() != 0 || c.Health.OnTrial() || l.state(c.Name) != "clear" {
				t.Errorf("%s: %+v %+v", c.Name, f, status(t, l.r, c.Name))
			}
		}
	})
}
