package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/worker/config"
)

// preflight is the report with what the resources themselves said.
type preflight struct {
	config.Preflight
	Neutral []onceward.PoolTest `json:"neutral,omitempty"` // only with --probe
}

// askedAtOnce bounds the neutral requests in flight.
const askedAtOnce = 8

// neutralToEach sends one neutral request to each route that gets any, in the order of
// the configuration.
func neutralToEach(ctx context.Context, cfg config.Config, untested []config.UntestedRoute) ([]onceward.PoolTest, error) {
	r, err := router.New(cfg.RouterConfig())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var tests []onceward.PoolTest
	for _, resource := range cfg.Pool.Resources {
		for _, d := range resource.Deployments {
			name := resource.Name + "/" + d.Model
			if !slices.ContainsFunc(untested, func(u config.UntestedRoute) bool { return u.Route == name }) {
				tests = append(tests, onceward.PoolTest{Resource: resource.Name, Model: d.Model})
			}
		}
	}
	places := make(chan struct{}, askedAtOnce)
	errs := make([]error, len(tests))
	var all sync.WaitGroup
	for i, test := range tests {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, onceward.PoolTimeout)
			defer cancel()
			tests[i], errs[i] = r.Test(ctx, test.Resource, test.Model, 0)
		})
	}
	all.Wait()
	return tests, errors.Join(errs...)
}

// unpassed names the routes whose neutral request did not pass.
func unpassed(tests []onceward.PoolTest) error {
	var errs []error
	for _, test := range tests {
		if verdictOf(test) != onceward.VerdictPassed {
			errs = append(errs, fmt.Errorf("the neutral request to %s/%s did not pass: %s", test.Resource, test.Model, testText(test)))
		}
	}
	return errors.Join(errs...)
}
