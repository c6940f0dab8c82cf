package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// testOutput is the output limit of a test, the least that hosts accept.
const testOutput = 16

// testTimeouts keep a test of a dead resource short.
var testTimeouts = onceward.Timeouts{FirstEvent: 15 * time.Second, Idle: 10 * time.Second, Attempt: 25 * time.Second}

// Test makes one cheap request to a resource, or to one model on it, and returns
// nil if it can serve. It goes out although the resource is disabled, and leaves
// no mark on its health. An answer that is cut at the small output limit, or that
// declines to talk about the test, comes from a resource that works. The error
// is a *onceward.Failure, unless there is no such resource or model.
func (r *Router) Test(ctx context.Context, resource, model string) error {
	for _, res := range r.cfg.Resources {
		if res.Name != resource {
			continue
		}
		for _, d := range res.Deployments {
			if model == "" || d.Model == model {
				return r.test(ctx, res, d)
			}
		}
	}
	return fmt.Errorf("test resource: no resource %q with model %q in the pool", resource, model)
}

func (r *Router) test(ctx context.Context, res Resource, d Deployment) error {
	cfg := r.cfg
	cfg.Secrets = nil
	for _, credential := range r.cfg.credentials() { // those of the other resources too
		cfg.Secrets = append(cfg.Secrets, Secret(credential))
	}
	cfg.Resources, cfg.OnChange = []Resource{res}, nil
	alone, err := New(cfg) // a router of its own, so that the pool's health stays as it is
	if err != nil {
		return err
	}
	ping, err := onceward.Text("user", "Reply with ok.")
	if err != nil {
		return err
	}
	_, err = alone.Call(ctx, onceward.ModelRequest{
		Route: onceward.Route{
			Resource: res.Name, Model: d.Model, Deployment: d.Deployment, Boundary: res.Boundary, MaxOutputTokens: testOutput,
		},
		RunKey: "test", Items: []onceward.Item{ping}, Timeouts: testTimeouts,
	})
	var f *onceward.Failure
	if !errors.As(err, &f) {
		return err
	}
	switch f.Class {
	case onceward.ClassIncompleteOutput, onceward.ClassRefusal, onceward.ClassContentFiltered, onceward.ClassPolicyBlocked:
		return nil
	default:
		return f
	}
}
