package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func preflightConfig() Config {
	able := onceward.Capability{Version: "1", MaxInputTokens: 1000, MaxOutputTokens: 1000, ToolCalling: true}
	pair := func(model string, c onceward.Capability) Deployment {
		return Deployment{Model: model, Deployment: model, Price: onceward.Price{Input: 1, Output: 1}, Capability: c}
	}
	resource := func(name, account, region string, deployments ...Deployment) Resource {
		return Resource{Name: name, Account: account, Boundary: name, Region: region, Deployments: deployments}
	}
	task := defaultTask("refund")
	task.Model, task.FallbackModels, task.MaxOutputTokens = "big", []string{"small"}, 500
	task.Requires = onceward.Requirements{ToolCalling: true}
	return Config{Tasks: []Task{task}, Pool: Pool{Resources: []Resource{
		resource("a", "contoso", "eu", pair("big", able)),
		resource("b", "contoso", "us", pair("big", able), pair("small", onceward.Capability{})),
		resource("c", "fabrikam", "us", pair("small", able)),
	}}}
}

func TestPreflightNamesWhatRemains(t *testing.T) {
	got := NewPreflight(preflightConfig())
	if !got.OK {
		t.Errorf("reported as broken: %+v", got)
	}
	part := got.Tasks[0]
	if want := []string{"a/big", "b/big", "c/small"}; !reflect.DeepEqual(part.Routes, want) {
		t.Errorf("routes %v, want %v", part.Routes, want)
	}
	if len(part.Dropped) != 1 || part.Dropped[0].Route != "b/small" || !strings.Contains(strings.Join(part.Dropped[0].Missing, " "), "tool_calling") {
		t.Errorf("dropped %+v, want b/small for tool_calling", part.Dropped)
	}
	for _, r := range part.Removals {
		want := map[string]string{
			"account contoso": "c/small", "account fabrikam": "a/big b/big", "region us": "a/big", "region eu": "b/big c/small",
			"resource a": "b/big c/small", "route b/big": "a/big c/small", "boundary c": "a/big b/big",
		}[r.Kind+" "+r.Name]
		if want != "" && strings.Join(r.Remain, " ") != want {
			t.Errorf("without %s %s: %v, want %s", r.Kind, r.Name, r.Remain, want)
		}
	}
	if len(part.Removals) != 3+3+2+3+2 {
		t.Errorf("%d removals: %+v", len(part.Removals), part.Removals)
	}
}

func TestPreflightFailsWhenOneLossLeavesNothing(t *testing.T) {
	cfg := preflightConfig()
	cfg.Pool.Resources = cfg.Pool.Resources[:2] // both of one account
	got := NewPreflight(cfg)
	if got.OK {
		t.Error("losing the account contoso leaves nothing, and that was reported as fine")
	}
	cfg.Tasks[0].Budget.AttemptCost, cfg.Pool.Resources[0].Deployments[0].Price.Output = 10, onceward.FromUSD(1)
	if got := NewPreflight(cfg).Tasks[0]; len(got.Routes) != 1 || !strings.Contains(strings.Join(got.Dropped[0].Missing, " "), "price") {
		t.Errorf("a route that no attempt can pay for is counted: %+v", got)
	}
}
