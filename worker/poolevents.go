package worker

import (
	"context"
	"log/slog"

	"github.com/onceward/onceward/router"
)

// remedies are what a person does about an event. An event without one is no trouble.
var remedies = map[router.Event]string{
	router.EventConvicted: "look at what its own answer says; it is tested again by itself",
	router.EventOpened:    "none while it passes by itself: it is tested every breaker.open_for as long as runs want it",
	router.EventDisabled:  "mend it, then wait for its next test, use `onceward pool test` or `onceward pool enable`",
	router.EventUnusable:  "give the resource `neutral: {max_output_tokens: N}` or a higher neutral_cost_usd; until then it is only ever avoided, never disabled by a test",
}

// changed is the router's OnChange: it says and counts what has happened, and reports
// what concerns every worker. It must not block: it is called inside an attempt.
func (s *poolSync) changed(c router.Change) {
	about := []any{"resource", c.Resource, "model", c.Model}
	add := func(key, value string) {
		if value != "" {
			about = append(about, key, value)
		}
	}
	add("class", string(c.Class))
	add("reason", c.Reason)
	if c.Test != nil {
		add("verdict", string(c.Test.Verdict))
		about = append(about, "input_tokens", c.Test.InputTokens, "output_tokens", c.Test.OutputTokens)
	}
	if !c.Disabled.Until.IsZero() {
		about = append(about, "until", c.Disabled.Until)
	}
	level := slog.LevelInfo
	if remedy := remedies[c.Event]; remedy != "" {
		level = slog.LevelWarn
		add("remedy", remedy)
	}
	s.log.Log(context.Background(), level, "resource "+string(c.Event), about...)
	if s.metrics != nil {
		s.metrics.WithTags(map[string]string{"resource": c.Resource, "model": c.Model, "event": string(c.Event)}).Counter("onceward_health").Inc(1)
	}
	if c.Event == router.EventDisabled {
		s.enqueue(c)
	}
}
