package router

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
)

// effects applies to health what the outcome says of the resource, and corrects
// the failure where this process knows better whose fault it was.
func (a *attempt) effects(f *onceward.Failure) {
	switch {
	case f == nil:
		a.permit.Success()
	case f.NotSent:
		a.permit.GiveBack()
	case f.StateEffect == onceward.EffectBreaker:
		a.count(f)
	case f.StateEffect == onceward.EffectThrottle:
		a.throttle(f)
	case f.StateEffect == onceward.EffectDisable, f.StateEffect == onceward.EffectDeploymentDown:
		a.disable(f)
	}
	a.permit.Release() // neutral, where nothing above ended it
}

// count marks the pair's breaker, unless the fault is known to be another's.
func (a *attempt) count(f *onceward.Failure) {
	excuse := func(scope onceward.Scope, why string) {
		f.StateEffect, f.Scope = onceward.EffectNone, scope
		a.notice("no health mark: " + why)
	}
	var dns *net.DNSError
	switch {
	case errors.As(a.transport, &dns):
		if a.router.local.Failed(dns.Name, a.router.cfg.Now()) {
			excuse(onceward.ScopeEgress, "name resolution fails for every resource, so this machine is at fault")
			return
		}
		a.router.local.Keep(a.permit.Failure())
		return
	case ownMachine(a.transport):
		excuse(onceward.ScopeEgress, "this machine could not make a connection")
		return
	case f.Class == onceward.ClassNetwork && a.connection().stale(a.answered.Load()):
		excuse(onceward.ScopeResource, "a kept-alive connection had been closed meanwhile")
		return
	case f.Class == onceward.ClassNetwork && !a.candidate.Resource.Health.Conns.First(a.connection().conn):
		excuse(onceward.ScopeResource, "another stream died with the same connection and was counted")
		return
	}
	takeBack := a.permit.Failure()
	if f.Class == onceward.ClassServerError &&
		a.router.poison.Failed(a.payload(), a.candidate.Name, takeBack) {
		excuse(onceward.ScopeRequest, "this payload fails inside on two resources, so it is the payload's fault")
		return
	}
	if f.RetryAfter > 0 || f.Class.Rule().Window > 0 {
		a.throttle(f)
	}
}

// ownMachine names faults of this host that look like the network's.
func ownMachine(err error) bool {
	for _, local := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, syscall.ENOBUFS} {
		if errors.Is(err, local) {
			return true
		}
	}
	return false
}

// connection returns what the attempt was given, the zero value before it.
func (a *attempt) connection() connection {
	c, _ := a.conn.Load().(connection)
	return c
}

// payload identifies what was asked, whatever resource it went to.
func (a *attempt) payload() string {
	chain := a.req.Route.Model + "\x00" + a.req.Instructions
	for _, item := range a.req.Items {
		if item.Digest == "" {
			item.Digest = onceward.DigestBytes(item.Raw)
		}
		chain = onceward.ChainDigest(chain, item)
	}
	return chain
}

// throttle opens a window: for the pair when the failure is the deployment's,
// for the account's resources when it is the account's, else for the resource.
func (a *attempt) throttle(f *onceward.Failure) {
	cfg := a.router.cfg
	floor := max(cfg.Throttle.Floor, f.Class.Rule().Window)
	extend := func(t *health.Throttle) { t.Extend(cfg.Now(), f.RetryAfter, floor, cfg.Throttle.Cap) }
	switch f.Scope {
	case onceward.ScopeDeployment:
		extend(&a.candidate.Health.Throttle)
	case onceward.ScopeAccount:
		for _, c := range a.router.all {
			if c.Account == a.candidate.Account {
				extend(&c.Resource.Health.Throttle)
			}
		}
	default:
		extend(&a.candidate.Resource.Health.Throttle)
	}
}

// disable records why a resource, a pair or an account's resources are not
// asked any more.
func (a *attempt) disable(f *onceward.Failure) {
	now := a.router.cfg.Now()
	d := health.Disabled{Class: f.Class, Reason: f.Message, Scope: f.Scope, Since: now}
	if wait := max(f.RetryAfter, f.Class.Rule().Window); wait > 0 {
		d.Until = now.Add(wait)
	}
	if d.Reason == "" {
		d.Reason = string(f.Class)
	}
	model := ""
	if f.StateEffect == onceward.EffectDeploymentDown || f.Scope == onceward.ScopeDeployment {
		model = a.candidate.Model
	}
	seen := map[string]bool{}
	for _, c := range a.router.all {
		if c.Name != a.candidate.Name && !(sharedByAccount(f) && c.Account == a.candidate.Account) || seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		_ = a.router.disable(c.Name, model, d) // the names are the pool's own
	}
}

// sharedByAccount reports whether a disabling failure reaches every resource of
// the account: who cannot pay cannot pay on any, but a key belongs to one.
func sharedByAccount(f *onceward.Failure) bool {
	return f.Scope == onceward.ScopeAccount && (f.Class == onceward.ClassBilling || f.Class == onceward.ClassQuotaExhausted)
}

// observe learns quota from the headers of any answer. It comes after the
// estimate was replaced by the true usage, which the headers have counted.
func (a *attempt) observe() {
	if a.header == nil {
		return
	}
	at, h, pair := a.headerAt.UnixNano(), a.header, a.candidate.Health
	pair.Requests.Observe(at, number(h, "X-Ratelimit-Limit-Requests"), number(h, "X-Ratelimit-Remaining-Requests"))
	pair.Tokens.Observe(at, number(h, "X-Ratelimit-Limit-Tokens"), number(h, "X-Ratelimit-Remaining-Tokens"))
}

// number reads a count; what is none is unknown.
func number(h http.Header, name string) int {
	value := h.Get(name)
	if value == "" {
		return 0 // most answers have none, and an error would be made for it
	}
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
