package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Preflight says, for each task class, which routes can serve it, and which
// remain when any one route, resource, account, encryption boundary or region is
// lost. It asks nothing of the network: it is what the configuration says.
type Preflight struct {
	Resources []ResourcePreflight `json:"resources"`
	Tasks     []TaskPreflight     `json:"tasks"`
	// Untested are the routes that get no neutral requests, and why: they are only ever
	// avoided, and no test disables or acquits them.
	Untested []UntestedRoute `json:"untested"`
	OK       bool            `json:"ok"` // there is a task class, and no single loss leaves one without a route
}

// ResourcePreflight says where requests to a resource will go.
type ResourcePreflight struct {
	Resource string   `json:"resource"`
	Kind     string   `json:"kind"`
	API      string   `json:"api"`
	URL      string   `json:"url"`     // that requests are posted to
	Headers  []string `json:"headers"` // their names
	// PlainHTTP says that what is sent there, a credential too, can be read on the way.
	PlainHTTP bool `json:"plain_http"`
}

// UntestedRoute is a route without neutral requests.
type UntestedRoute struct {
	Route string `json:"route"`
	Why   string `json:"why"`
}

// PlainHTTP reports whether an address is plain http and not of this machine.
func PlainHTTP(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip == nil || !ip.IsLoopback()
}

// TaskPreflight is the part about one task class.
type TaskPreflight struct {
	Task     string        `json:"task"`
	Routes   []string      `json:"routes"`   // resource/model, in the order of models
	Dropped  []DroppedPair `json:"dropped"`  // what cannot serve it, and every reason
	Removals []Removal     `json:"removals"` // one for each thing that can be lost
}

// DroppedPair is a route that does not meet the task's requirements.
type DroppedPair struct {
	Route   string   `json:"route"`
	Missing []string `json:"missing"`
}

// Removal is the loss of one thing.
type Removal struct {
	Kind   string   `json:"kind"` // route | resource | account | boundary | region
	Name   string   `json:"name"`
	Remain []string `json:"remain"`
}

// The kinds of things that can be lost, from the narrowest to the widest.
var removalKinds = []struct {
	kind string
	of   func(r Resource, model string) string
}{
	{"route", func(r Resource, model string) string { return r.Name + "/" + model }},
	{"resource", func(r Resource, _ string) string { return r.Name }},
	{"account", func(r Resource, _ string) string { return r.Account }},
	{"boundary", func(r Resource, _ string) string { return r.Boundary }},
	{"region", func(r Resource, _ string) string { return r.Region }},
}

// route is a candidate that meets a task's requirements.
type preflightRoute struct {
	resource Resource
	model    string
}

func (r preflightRoute) String() string { return r.resource.Name + "/" + r.model }

// NewPreflight works out the report for a checked configuration.
func NewPreflight(cfg Config) Preflight {
	// Without a task class no agent can be registered; only a probe needs none.
	report := Preflight{OK: len(cfg.Tasks) > 0, Resources: []ResourcePreflight{}, Tasks: []TaskPreflight{}, Untested: []UntestedRoute{}}
	for _, n := range cfg.RouterConfig().Untested() {
		report.Untested = append(report.Untested, UntestedRoute{Route: n.Resource + "/" + n.Model, Why: n.Unusable})
	}
	for _, r := range cfg.Pool.Resources {
		part := ResourcePreflight{Resource: r.Name, Kind: r.Kind, API: r.API, URL: r.RequestURL(), Headers: []string{}, PlainHTTP: PlainHTTP(r.BaseURL)}
		for _, h := range r.Headers {
			part.Headers = append(part.Headers, h.Name)
		}
		report.Resources = append(report.Resources, part)
	}
	for _, task := range cfg.Tasks {
		part := TaskPreflight{Task: task.Name, Routes: []string{}, Dropped: []DroppedPair{}, Removals: []Removal{}}
		var routes []preflightRoute
		for _, c := range cfg.candidates(task) {
			need := task.Requires
			need.OutputTokens = max(need.OutputTokens, task.MaxOutputTokens)
			missing := need.Missing(c.deployment.Capability, c.resource.Region, c.resource.SafetyPolicy)
			if ceiling := c.deployment.Price.Ceiling(0, task.MaxOutputTokens); ceiling > task.Budget.AttemptCost {
				missing = append(missing, fmt.Sprintf("price: %d output tokens alone may cost %.6f USD, an attempt at most %.6f", task.MaxOutputTokens, ceiling.USD(), task.Budget.AttemptCost.USD()))
			}
			if len(missing) > 0 {
				part.Dropped = append(part.Dropped, DroppedPair{Route: c.resource.Name + "/" + c.deployment.Model, Missing: missing})
				continue
			}
			routes = append(routes, preflightRoute{c.resource, c.deployment.Model})
			part.Routes = append(part.Routes, c.resource.Name+"/"+c.deployment.Model)
		}
		part.Removals = removals(routes)
		report.OK = report.OK && len(routes) > 0 && !slices.ContainsFunc(part.Removals, func(r Removal) bool { return len(r.Remain) == 0 })
		report.Tasks = append(report.Tasks, part)
	}
	return report
}

// removals takes each thing away in turn. What has no name, such as the region
// of a resource that declares none, cannot be lost by name.
func removals(routes []preflightRoute) []Removal {
	out := []Removal{}
	for _, kind := range removalKinds {
		var names []string
		for _, r := range routes {
			if name := kind.of(r.resource, r.model); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, strings.Compare)
		for _, name := range names {
			removal := Removal{Kind: kind.kind, Name: name, Remain: []string{}}
			for _, r := range routes {
				if kind.of(r.resource, r.model) != name {
					removal.Remain = append(removal.Remain, r.String())
				}
			}
			out = append(out, removal)
		}
	}
	return out
}
