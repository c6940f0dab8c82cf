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
	"github.com/onceward/onceward/router/route"
)

// effects tells health of a run's outcome. A success counts for the pair; a failure
// only raises a suspicion, which a neutral request then looks into: a run's words may
// be a caller's, a firewall's or a proxy's.
func (a *attempt) effects(f *onceward.Failure) {
	switch {
	case f == nil:
		a.permit.Success()
		a.router.tester.served(a.candidate, a.permit.At())
	case f.NotSent:
		a.permit.GiveBack()
	case a.ownSide(f):
		f.StateEffect, f.Scope = onceward.EffectNone, onceward.ScopeEgress
		a.notice("no suspicion: this machine is at fault, not the resource")
	case f.StateEffect == onceward.EffectThrottle:
		a.router.tester.refused(a.candidate, f, a.permit.At())
	case harms(f.StateEffect) && a.candidate.Health.Breaker.IsByRuns():
		a.router.tester.failed(a.candidate, f, a.req.RunKey, a.limit)
		if f.StateEffect == onceward.EffectBreaker {
			a.permit.Failure()
		}
	case harms(f.StateEffect):
		a.permit.Release() // its place may be the one that the test needs
		a.router.tester.failed(a.candidate, f, a.req.RunKey, a.limit)
	}
	a.permit.Release() // says nothing, where nothing above ended it
}

// harms reports whether a neutral request that fails so convicts.
func harms(effect onceward.StateEffect) bool {
	return effect == onceward.EffectBreaker || switches(effect)
}

// switches reports whether it then switches the pair off.
func switches(effect onceward.StateEffect) bool {
	return effect == onceward.EffectDisable || effect == onceward.EffectDeploymentDown
}

// ownSide reports whether the fault is this machine's, so that it says nothing of
// any resource.
func (a *attempt) ownSide(f *onceward.Failure) bool {
	var dns *net.DNSError
	switch {
	case f.StateEffect == onceward.EffectNone:
		return false
	case errors.As(a.transport, &dns):
		return a.router.local.Failed(dns.Name, a.router.cfg.Now())
	}
	return ownMachine(a.transport)
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

// window returns the window that a refusal opens: the pair's when it is the
// deployment's, else the resource's. Others of the account answer for themselves.
func window(c *route.Candidate, scope onceward.Scope) *health.Throttle {
	if scope == onceward.ScopeDeployment {
		return &c.Health.Throttle
	}
	return &c.Resource.Health.Throttle
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
