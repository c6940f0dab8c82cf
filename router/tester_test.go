package router

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

const (
	firewall = `<html><head><title>403 Forbidden</title></head><body><center><h1>403 Forbidden</h1></center></body></html>`
	noMoney  = `{"error":{"message":"Insufficient credits, please top up","code":402}}`
	badKey   = `{"error":{"code":"invalid_api_key","message":"Incorrect API key provided"}}`
	tooMany  = `{"error":{"message":"Too many requests","code":"rate_limit_exceeded"}}`
)

// E01: a page that refuses one prompt costs one neutral request a resource, and nobody
// else anything.
func TestE01AFirewallThatRefusesOnePromptConvictsNobody(t *testing.T) {
	inLab(t, []string{"a", "b"}, nil, func(l *lab) {
		wall := func(q asked, n int) (int, map[string]string, string) {
			if strings.Contains(q.body, "DROP TABLE") {
				return 403, nil, firewall
			}
			return fine(q, n)
		}
		l.set("a", wall)
		l.set("b", wall)
		suspects := []onceward.SuspectRoute{}
		for _, name := range []string{"a", "b"} {
			since := time.Now()
			f := l.call(name, "the topic", "DROP TABLE users")
			if f == nil || f.Class != onceward.ClassPermission {
				t.Fatalf("%+v", f)
			}
			suspects = append(suspects, onceward.SuspectRoute{Resource: name, Model: "m", Class: f.Class, Since: since})
		}
		for _, v := range l.r.Verdicts(context.Background(), suspects, true) {
			if v.Judged != onceward.JudgedAcquitted {
				t.Errorf("%+v", v)
			}
		}
		for i := range 50 {
			if where, f := l.ask(fmt.Sprint("run ", i), "hello"); where == "" || f != nil {
				t.Fatalf("run %d at %q: %+v", i, where, f)
			}
		}
		l.settle(time.Minute)
		for _, name := range []string{"a", "b"} {
			if l.neutrals(name) != 1 || l.state(name) != "clear" || l.events(name, EventSuspected) != 1 || l.events(name, EventAcquitted) != 1 {
				t.Errorf("%s: %d neutral requests, %s", name, l.neutrals(name), l.state(name))
			}
		}
		if l.events("", EventDisabled)+l.events("", EventConvicted) != 0 {
			t.Errorf("%+v", l.changes)
		}
	})
}

// E03: an outage opens the breakers of all, however few the requests; and the first
// request after it is a test's.
func TestE03AnOutageOfAllConvicts(t *testing.T) {
	inLab(t, []string{"a", "b"}, nil, func(l *lab) {
		down := always(500, internal)
		l.set("a", down)
		l.set("b", down)
		refused := 0
		for i := range 200 {
			if where, _ := l.ask(fmt.Sprint("run ", i), fmt.Sprint("payload ", i)); where == "" {
				refused++
			}
			l.settle(time.Second)
		}
		for _, name := range []string{"a", "b"} {
			if l.state(name) != "open" || l.runs(name) > 40 {
				t.Errorf("%s is %s after %d requests of runs", name, l.state(name), l.runs(name))
			}
		}
		if refused < 120 {
			t.Errorf("%d of 200 runs found that nobody serves", refused)
		}
		before := map[string]int{"a": l.runs("a"), "b": l.runs("b")}
		l.set("a", fine)
		l.set("b", fine)
		for range 11 { // the default open_for is 10 s
			l.ask("waiting", "x")
			l.settle(time.Second)
		}
		for _, name := range []string{"a", "b"} {
			if l.state(name) != "clear" {
				t.Errorf("%s is %s", name, l.state(name))
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, name := range []string{"a", "b"} {
			tested, n := false, 0
			for _, q := range l.asked {
				switch {
				case q.resource != name:
				case q.neutral:
					tested = n == before[name]
				default:
					if n++; n == before[name]+1 && !tested {
						t.Errorf("%s: a run was the first to ask after the outage", name)
					}
				}
			}
		}
	})
}

func TestAThousandBadRequestsAreNoSuspicion(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", always(400, missingOutput))
		for range poisoned() {
			l.call("a", "poisoned", "x")
		}
		l.settle(time.Minute)
		if l.neutrals("a") != 0 || l.state("a") != "clear" || status(t, l.r, "a").Strikes != 0 {
			t.Errorf("%d neutral requests, %+v", l.neutrals("a"), status(t, l.r, "a"))
		}
	})
}

// The class, the reason and the wait are the neutral request's own.
func TestOnlyTheNeutralRequestsOwnWordsConvict(t *testing.T) {
	inLab(t, []string{"a", "b"}, nil, func(l *lab) {
		l.set("a", func(q asked, n int) (int, map[string]string, string) {
			if q.neutral {
				return 402, nil, noMoney
			}
			return 401, nil, `{"error":{"code":"invalid_api_key","message":"the caller's own words: Incorrect API key provided"}}`
		})
		l.call("a", "r", "x")
		l.settle(0)
		off := l.r.Off()
		if len(off) != 1 || off[0].Model != "m" || off[0].Disabled.Class != onceward.ClassBilling || off[0].Disabled.Adopted || strings.Contains(fmt.Sprint(l.changes[1:]), "caller's") {
			t.Fatalf("off %+v, told %+v", off, l.changes)
		}
		if where, _ := l.ask("another", "x"); where != "b" {
			t.Errorf("went to %q", where)
		}
		if f := l.call("a", "r", "x"); f == nil || !f.NotSent || f.Class != onceward.ClassBilling {
			t.Errorf("%+v", f)
		}
		// Without a record of the pool it tests again by itself, and a pass ends it.
		l.settle(13 * time.Minute)
		if got := pauses(l.sent("a", true)); got != "60 120 240 300" {
			t.Errorf("tested after %s", got)
		}
		l.set("a", fine)
		l.settle(5 * time.Minute)
		if l.state("a") != "clear" || l.events("a", EventEnabled) != 1 {
			t.Errorf("%s", l.state("a"))
		}
	})
}

// What the pool's record has taken over is tested by the pool.
func TestWhatTheRecordHoldsIsNotTestedHere(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", always(402, noMoney))
		l.call("a", "r", "x")
		l.settle(0)
		off := l.r.Off()[0]
		l.r.Adopt("a", "m", off.Disabled)
		l.settle(time.Hour)
		if l.neutrals("a") != 1 {
			t.Errorf("%d neutral requests", l.neutrals("a"))
		}
		if err := l.r.Enable("a", "m"); err != nil || l.state("a") != "clear" {
			t.Errorf("%v, %s", err, l.state("a"))
		}
	})
}

// An account may have money for a short answer: the test names the limit that failed.
func TestABillingTestNamesTheFailingLimit(t *testing.T) {
	above := func(limit int) answerer {
		return func(q asked, n int) (int, map[string]string, string) {
			var body struct {
				Max int `json:"max_output_tokens"`
			}
			_ = json.Unmarshal([]byte(q.body), &body)
			if body.Max > limit {
				return 402, nil, noMoney
			}
			return fine(q, n)
		}
	}
	inLab(t, []string{"a", "b"}, nil, func(l *lab) {
		l.set("a", above(200))
		l.call("a", "r", "x") // with a limit of 1000
		l.settle(0)
		if l.state("a") != "off" || l.r.Off()[0].Limit != 1000 {
			t.Errorf("%s, %+v", l.state("a"), l.r.Off())
		}
	})
	// A limit on the input is none that a neutral request meets: only avoided.
	inLab(t, []string{"a", "b"}, nil, func(l *lab) {
		l.set("a", func(q asked, n int) (int, map[string]string, string) {
			if len(q.body) > 2000 {
				return 402, nil, noMoney
			}
			return fine(q, n)
		})
		for i := range 9 {
			l.call("a", fmt.Sprint("run ", i), strings.Repeat("long ", 1000))
			l.settle(100 * time.Millisecond)
		}
		st := status(t, l.r, "a")
		if left := time.Until(st.AvoidedUntil); st.State == "off" || l.events("", EventDisabled) != 0 || left < 55*time.Second || left > time.Minute {
			t.Errorf("%+v, avoided for %s", st, left)
		}
		for i := range 20 {
			if where, f := l.ask(fmt.Sprint("later ", i), strings.Repeat("long ", 1000)); where != "b" || f != nil {
				t.Fatalf("%s: %+v", where, f)
			}
		}
	})
}

// E04: hosts that say 0 are left alone for longer each time; what they ask for beyond a
// minute is tested.
func TestE04ThrottlesRememberAndLongWaitsAreTested(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", func(asked, int) (int, map[string]string, string) {
			return 429, map[string]string{"retry-after-ms": "0"}, tooMany
		})
		for range 7 {
			l.call("a", "r", "x")
			l.settle(time.Until(status(t, l.r, "a").ThrottledUntil))
		}
		if got := pauses(l.sent("a", false)); got != "5 10 20 40 60 60" || l.neutrals("a") != 0 {
			t.Errorf("left alone for %s, %d neutral requests", got, l.neutrals("a"))
		}
	})
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", func(q asked, n int) (int, map[string]string, string) {
			if q.neutral {
				return fine(q, n)
			}
			return 429, map[string]string{"Retry-After": "3600"}, tooMany
		})
		begun := time.Now()
		l.call("a", "r", "x")
		l.settle(59 * time.Second)
		if l.neutrals("a") != 0 {
			t.Error("tested before a minute")
		}
		if where, _ := l.ask("another", "x"); where != "" {
			t.Error("a run went")
		}
		l.settle(2 * time.Second)
		if l.neutrals("a") != 1 || l.sent("a", true)[0].at.Sub(begun) < time.Minute {
			t.Errorf("%d neutral requests", l.neutrals("a"))
		}
		if where, _ := l.ask("another", "x"); where != "a" {
			t.Error("a passed test did not end it")
		}
	})
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", func(asked, int) (int, map[string]string, string) {
			return 429, map[string]string{"Retry-After": "3600"}, tooMany
		})
		l.call("a", "r", "x")
		l.settle(70 * time.Minute)
		if got := pauses(l.sent("a", true)); !strings.HasPrefix(got, "600 600 600") || l.events("", EventDisabled)+l.events("", EventOpened) != 0 {
			t.Errorf("tested after %s, told %+v", got, l.changes)
		}
	})
}

// Where a neutral request cannot tell, the pair is avoided for longer and longer, and
// never convicted.
func TestLargeInputsThatFailAreAvoidedOnly(t *testing.T) {
	large := func(q asked, n int) (int, map[string]string, string) {
		if len(q.body) > 2000 {
			return 504, nil, `{"error":{"message":"upstream timed out"}}`
		}
		return fine(q, n)
	}
	prompt := strings.Repeat("long ", 1000)
	inLab(t, []string{"a", "b"}, nil, func(l *lab) {
		l.set("a", large)
		for i := range 600 {
			l.ask(fmt.Sprint("run ", i), prompt)
			l.settle(time.Second)
		}
		if n := l.runs("a"); n > 60 || l.state("a") == "open" || l.events("", EventOpened) != 0 {
			t.Errorf("%d of 600 runs went to a, which is %s", n, l.state("a"))
		}
	})
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", large)
		for i := range 4 {
			l.call("a", fmt.Sprint("run ", i), prompt)
		}
		if where, _ := l.ask("one", prompt); where != "a" {
			t.Errorf("a sole resource is not asked")
		}
		release := make(chan struct{})
		l.set("a", func(q asked, n int) (int, map[string]string, string) {
			if !q.neutral {
				<-release
			}
			return fine(q, n)
		})
		before := l.runs("a")
		for i := range 20 {
			go func() { l.ask(fmt.Sprint("waiting ", i), "x") }()
		}
		l.settle(0)
		if n := l.runs("a") - before; n != 1 {
			t.Errorf("%d at a time", n)
		}
		close(release)
		l.settle(0)
		if where, _ := l.ask("after a success", "x"); where != "a" {
			t.Error("a success does not end it")
		}
	})
}

func TestAFlakyResourceGetsASmallShare(t *testing.T) {
	inLab(t, []string{"a", "b"}, func(c *Config) { c.Affinity = "off" }, func(l *lab) {
		l.set("a", func(q asked, n int) (int, map[string]string, string) {
			if n%5 < 2 {
				return 500, nil, internal
			}
			return fine(q, n)
		})
		share := func(seconds int) float64 {
			a, all := l.runs("a"), l.runs("a")+l.runs("b")
			for i := range seconds * 5 {
				l.ask(fmt.Sprint("run ", seconds, i), "x")
				l.settle(200 * time.Millisecond)
			}
			return float64(l.runs("a")-a) / float64(l.runs("a")+l.runs("b")-all)
		}
		share(60)
		if s := share(120); s >= 0.2 {
			t.Errorf("%.0f %% go to a resource that fails at 40 %%", 100*s)
		}
		if l.events("b", EventSuspected) != 0 {
			t.Error("b is suspect")
		}
	})
}

// Only a test takes the half-open grant, whoever waits.
func TestHalfOpenIsTestedOnceAndNoRunGoes(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", always(500, internal))
		for i := range 3 {
			l.call("a", fmt.Sprint("run ", i), "x")
		}
		l.settle(8 * time.Second)
		if l.state("a") != "open" {
			t.Fatalf("%s", l.state("a"))
		}
		release := make(chan struct{})
		l.set("a", func(q asked, n int) (int, map[string]string, string) {
			if q.neutral {
				<-release
			}
			return fine(q, n)
		})
		runs, tests := l.runs("a"), l.neutrals("a")
		for i := range 200 {
			if where, _ := l.ask(fmt.Sprint("waiting ", i), "x"); where != "" {
				t.Fatal("a run went")
			}
		}
		l.settle(15 * time.Second)
		for i := range 200 {
			if where, _ := l.ask(fmt.Sprint("waiting ", i), "x"); where != "" {
				t.Fatal("a run went beside the test")
			}
		}
		if l.runs("a") != runs || l.neutrals("a") != tests+1 {
			t.Errorf("%d runs and %d tests", l.runs("a")-runs, l.neutrals("a")-tests)
		}
		close(release)
		l.settle(0)
		for i := range 200 {
			if where, f := l.ask(fmt.Sprint("waiting ", i), "x"); where != "a" || f != nil {
				t.Fatalf("%q %+v", where, f)
			}
		}
	})
}

func TestAnOpenPairThatNobodyWantsIsLeftAlone(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", always(500, internal))
		for i := range 3 {
			l.call("a", fmt.Sprint("run ", i), "x")
		}
		l.settle(8 * time.Second)
		if where, _ := l.ask("once", "x"); where != "" {
			t.Fatal("a run went")
		}
		l.settle(6 * time.Minute)
		before := l.neutrals("a")
		l.settle(time.Hour)
		if l.neutrals("a") != before {
			t.Errorf("%d tests that nobody asked for", l.neutrals("a")-before)
		}
		l.set("a", fine)
		l.ask("again", "x")
		l.settle(0)
		if where, _ := l.ask("again", "x"); where != "a" {
			t.Error("who wants it does not have it tested")
		}
	})
}

func TestNeutralRequestsAreCheapMarkedAndNeverEqual(t *testing.T) {
	for _, api := range []string{APIResponses, APIChatCompletions} {
		inLab(t, []string{"a"}, func(c *Config) {
			c.Resources[0].API, c.Resources[0].Deployments[0].Capability.EncryptedReasoning = api, api == APIResponses
		}, func(l *lab) {
			l.set("a", always(500, internal))
			l.call("a", "r", "x")
			l.settle(7 * time.Second)
			list := l.sent("a", true)
			if len(list) != 3 || equalBodies(list) {
				t.Fatalf("%s: %d neutral requests, or equal ones", api, len(list))
			}
			for _, q := range list {
				var body map[string]any
				if err := json.Unmarshal([]byte(q.body), &body); err != nil {
					t.Fatal(err)
				}
				limit := body["max_output_tokens"]
				if api == APIChatCompletions {
					limit = body["max_completion_tokens"]
				}
				if q.header.Get("Cache-Control") != "no-cache" || limit != float64(16) || body["tools"] != nil || len(q.body) > 500 || api == APIResponses && body["store"] != false {
					t.Errorf("%s: %v %s", api, q.header, q.body)
				}
			}
		})
	}
}

// Where neutral requests tell nothing, a pair is only avoided, and runs work its breaker.
func TestPairsWithoutAUsableNeutralRequest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		answer answerer // of neutral requests
		why    string
		sent   bool
	}{
		"switched off": {change: func(c *Config) { c.Resources[0].Neutral.Off = true }, why: "neutral: off"},
		"too dear":     {change: func(c *Config) { c.NeutralCost = 1 }, why: "too dear"},
		"unclear": {answer: always(400, `{"error":{"message":"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 32.","type":"invalid_request_error","param":"max_output_tokens","code":"integer_below_min_value"}}`),
			why: "unclear: ", sent: true},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, []string{"a", "b"}, c.change, func(l *lab) {
				l.set("a", func(q asked, n int) (int, map[string]string, string) {
					if q.neutral {
						return c.answer(q, n)
					}
					return 402, nil, noMoney
				})
				l.call("a", "first", "x")
				l.settle(11 * time.Second)
				if got := l.r.Neutrals()[0]; !strings.Contains(got.Unusable, c.why) || got.Sent() != l.neutrals("a") || (got.Sent() == 2) != c.sent {
					t.Fatalf("%+v after %d", got, l.neutrals("a"))
				}
				for i := range 5 {
					l.call("a", fmt.Sprint("run ", i), "x")
				}
				if l.state("a") == "off" || l.state("a") == "open" || l.events("", EventDisabled) != 0 {
					t.Errorf("words switched it off: %s", l.state("a"))
				}
				l.set("a", func(q asked, n int) (int, map[string]string, string) {
					if q.neutral {
						return c.answer(q, n)
					}
					return 500, nil, internal
				})
				l.settle(301 * time.Second) // the strikes are forgotten
				for i := range 3 {
					l.call("a", fmt.Sprint("down ", i), "x")
				}
				if l.state("a") != "open" {
					t.Fatalf("runs do not open its breaker: %s", l.state("a"))
				}
				l.settle(10*time.Second + time.Millisecond)
				l.set("a", runsOnly(fine))
				if l.state("a") != "open" {
					t.Fatal(l.state("a"))
				}
				if f := l.call("a", "the probe", "x"); f != nil || status(t, l.r, "a").Breaker != "closed" {
					t.Errorf("%+v, %s", f, l.state("a"))
				}
			})
		})
	}
}

// What is found wrong with an account or a key has the other pairs tested, and none
// convicted unasked.
func TestOthersOfTheAccountAreTestedThemselves(t *testing.T) {
	inLab(t, []string{"a", "b", "c"}, func(c *Config) {
		c.Resources[0].Account, c.Resources[1].Account = "one", "one"
		c.Resources[0].Deployments = append(c.Resources[0].Deployments, Deployment{Model: "n", Price: price, Capability: capable()})
	}, func(l *lab) {
		l.set("a", always(402, noMoney))
		l.call("a", "r", "x")
		l.settle(time.Second)
		if l.neutrals("a") != 2 || l.neutrals("b") != 1 || l.neutrals("c") != 0 {
			t.Errorf("neutral requests: %d, %d, %d", l.neutrals("a"), l.neutrals("b"), l.neutrals("c"))
		}
		off := map[string]bool{}
		for _, st := range l.r.Health() {
			off[st.Resource+"/"+st.Model] = st.State == "off"
		}
		if !off["a/m"] || !off["a/n"] || off["b/m"] || off["c/m"] {
			t.Errorf("off: %v", off)
		}
	})
}

func TestTestsAreBoundedByTheHour(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", always(500, internal))
		l.call("a", "r", "x")
		for range 3600 {
			l.ask("waiting", "x")
			l.settle(time.Second)
		}
		if n := l.neutrals("a"); n > 60 || n < 30 {
			t.Errorf("%d tests in an hour", n)
		}
	})
}

// A pause grows while runs are served in between: what fails is then theirs.
func TestTestsOfAResourceThatServesOthersGrowRare(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", func(q asked, n int) (int, map[string]string, string) {
			if strings.Contains(q.body, "DROP TABLE") {
				return 403, nil, firewall
			}
			return fine(q, n)
		})
		for i := range 1800 {
			l.call("a", fmt.Sprint("bad ", i), "DROP TABLE")
			l.call("a", fmt.Sprint("good ", i), "hello")
			l.settle(time.Second)
		}
		if n := l.neutrals("a"); n > 15 || l.events("", EventDisabled)+l.events("", EventConvicted) != 0 {
			t.Errorf("%d tests in half an hour", n)
		}
	})
}

func TestCloseEndsTests(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		stuck := make(chan struct{})
		l.set("a", func(q asked, n int) (int, map[string]string, string) {
			if q.neutral {
				<-stuck
			}
			return 500, nil, internal
		})
		l.call("a", "r", "x")
		l.settle(0)
		l.r.Close()
		close(stuck)
		l.call("a", "another", "x")
		l.settle(time.Hour)
		if l.neutrals("a") != 1 {
			t.Errorf("%d tests", l.neutrals("a"))
		}
	})
}

// No sequence of run failures without a failed neutral request disables anything or
// opens a breaker.
func TestRunFailuresAloneConvictNobody(t *testing.T) {
	bodies := []struct {
		status int
		body   string
	}{
		{500, internal}, {503, ``}, {403, firewall}, {402, noMoney}, {401, badKey}, {404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`},
		{429, tooMany}, {429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`}, {502, firewall}, {200, ``}, {200, `null`}, {400, missingOutput},
		{403, `{"error":{"message":"Country, region, or territory not supported"}}`},
	}
	for seed := range int64(8) {
		random := rand.New(rand.NewSource(seed))
		inLab(t, []string{"a", "b"}, nil, func(l *lab) {
			answer := runsOnly(func(asked, int) (int, map[string]string, string) {
				b := bodies[random.Intn(len(bodies))]
				return b.status, nil, b.body
			})
			l.set("a", answer)
			l.set("b", answer)
			for i := range 300 {
				l.call([]string{"a", "b"}[i%2], fmt.Sprint("run ", random.Intn(40)), "x")
				l.settle(time.Duration(random.Intn(2000)) * time.Millisecond)
			}
			if n := l.events("", EventDisabled) + l.events("", EventOpened) + l.events("", EventConvicted); n != 0 {
				t.Errorf("seed %d: %+v", seed, l.changes)
			}
		})
	}
}

// A test that somebody ordered takes the pair's place for a while. What fails meanwhile
// is looked into afterwards.
func TestWhatFailsDuringAnOrderedTestIsTestedAfterIt(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		state  string
	}{"passed": {200, "clear"}, "failed": {500, "open"}} {
		t.Run(name, func(t *testing.T) {
			inLab(t, []string{"a"}, nil, func(l *lab) {
				release := make(chan struct{})
				l.set("a", func(q asked, _ int) (int, map[string]string, string) {
					if q.neutral {
						<-release
						if c.status == 200 {
							return 200, nil, okBody
						}
					}
					return 500, nil, internal
				})
				done := make(chan onceward.PoolTest)
				go func() {
					test, _ := l.r.Test(context.Background(), "a", "m", 0)
					done <- test
				}()
				l.settle(0)
				l.call("a", "r", "x")
				l.settle(5 * time.Second)
				if n := l.neutrals("a"); n != 1 {
					t.Fatalf("%d tests at once", n)
				}
				close(release)
				<-done
				l.settle(20 * time.Second)
				if l.state("a") != c.state && !(c.state == "open" && l.neutrals("a") > 3) {
					t.Errorf("%s after %d tests", l.state("a"), l.neutrals("a"))
				}
			})
		})
	}
}
