package router

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestNewNamesTheKeyAndTheReason(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"affinity: is neither":                                      func(c *Config) { c.Affinity = "hard" },
		"cross_boundary: is none":                                   func(c *Config) { c.CrossBoundary = "maybe" },
		"breaker: failures -1":                                      func(c *Config) { c.Breaker.Failures = -1 },
		"breaker.open_for: -1s":                                     func(c *Config) { c.Breaker.OpenFor = -time.Second },
		"breaker.window: 1m0s is shorter":                           func(c *Config) { c.Breaker.Window = time.Minute },
		"throttle: floor":                                           func(c *Config) { c.Throttle.Floor = time.Hour },
		"resources: there is none":                                  func(c *Config) { c.Resources = nil },
		"resources[1].name: is empty":                               func(c *Config) { c.Resources[1].Name = "" },
		"resources.a.name: two":                                     func(c *Config) { c.Resources[1].Name = "a" },
		"resources.a.kind: is none":                                 func(c *Config) { c.Resources[0].Kind = "aws" },
		"resources.a.api: is neither":                               func(c *Config) { c.Resources[0].API = "completions" },
		"resources.a.base_url: is not":                              func(c *Config) { c.Resources[0].BaseURL = "a.example/v1" },
		"resources.a.base_url: holds a user":                        func(c *Config) { c.Resources[0].BaseURL = "https://u:p@a.example/v1" },
		"resources.a.key: has U+000A (a line break) at character 2": func(c *Config) { c.Resources[0].Key = "k\n" },
		"resources.a.weight: -1":                                    func(c *Config) { c.Resources[0].Weight = -1 },
		"resources.a.max_in_flight":                                 func(c *Config) { c.Resources[0].MaxInFlight = -1 },
		"resources.a.quota: is negative":                            func(c *Config) { c.Resources[0].Quota.TokensPerMinute = -1 },
		"resources.a.deployments: there is none":                    func(c *Config) { c.Resources[0].Deployments = nil },
		"resources.a.deployments[0].model: is empty":                func(c *Config) { c.Resources[0].Deployments[0].Model = "" },
		"resources.a.deployments[1].model: m is declared": func(c *Config) {
			c.Resources[0].Deployments = append(c.Resources[0].Deployments, c.Resources[0].Deployments[0])
		},
		"resources.a.deployments[0].capability.encrypted_reasoning: chat": func(c *Config) { c.Resources[0].API = APIChatCompletions },
		"resources.a.deployments[0].capability.image_input: chat": func(c *Config) {
			c.Resources[0].API = APIChatCompletions
			c.Resources[0].Deployments[0].Capability = onceward.Capability{MaxInputTokens: 1, MaxOutputTokens: 1, ImageInput: true}
		},
		"resources.a.boundary: chat_completions":           func(c *Config) { c.Resources[0].API, c.Resources[0].Boundary = APIChatCompletions, "b" },
		"resources.a.deployments[0].price: is negative":    func(c *Config) { c.Resources[0].Deployments[0].Price.Output = -1 },
		"resources.a.deployments[0].price: input and":      func(c *Config) { c.Resources[0].Deployments[0].Price = onceward.Price{} },
		"resources.a.deployments[0].capability: max_input": func(c *Config) { c.Resources[0].Deployments[0].Capability = onceward.Capability{} },
	} {
		cfg := Config{Resources: []Resource{resource("a", "https://a.example/v1"), resource("b", "https://b.example/v1")}}
		cfg.Resources[0].Key = "top-secret-key"
		change(&cfg)
		_, err := New(cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret-key") {
			t.Errorf("the key is in %v", err)
		}
	}
	free := resource("a", "https://a.example/v1")
	free.Deployments[0].Price, free.Deployments[0].Free = onceward.Price{}, true
	if _, err := New(Config{Resources: []Resource{free}}); err != nil {
		t.Errorf("a price of 0 that is declared: %v", err)
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	s := Secret("sk-very-secret")
	r := Resource{Name: "a", Key: s}
	enc, _ := json.Marshal(r)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", s, "resource", r)
	for _, text := range []string{
		string(enc), log.String(), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", r, r, r, s, s), fmt.Sprintf("%#v", &r), fmt.Sprintf("%x", s),
	} {
		if strings.Contains(text, "very") || strings.Contains(text, "736b2d76657279") {
			t.Errorf("printed: %s", text)
		}
	}
}
