package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

func printPool(w io.Writer, pool string, running bool, health onceward.PoolHealth, asJSON bool) error {
	return printChanged(w, pool, running, onceward.PoolEnabled{PoolHealth: health}, asJSON)
}

// printChanged prints a record, and before it what was enabled just now.
func printChanged(w io.Writer, pool string, running bool, record onceward.PoolEnabled, asJSON bool) error {
	health := record.PoolHealth
	if asJSON {
		if record.Disabled == nil {
			record.Disabled = []onceward.Disabled{}
		}
		return printJSON(w, struct {
			Pool    string `json:"pool"`
			Running bool   `json:"running"` // is the Pool workflow open
			onceward.PoolEnabled
		}{pool, running, record})
	}
	var b strings.Builder
	names := namesOf(health)
	var changed []string
	for _, e := range record.Changed {
		changed = append(changed, names.of(e.Resource, e.Model, e.Endpoint))
	}
	if len(changed) > 0 { // a Pool of an earlier build does not say it
		fmt.Fprintf(&b, "enabled %s\n", strings.Join(changed, ", "))
	}
	fmt.Fprintf(&b, "pool %s · version %d", pool, health.Version)
	if !running {
		b.WriteString(" · its workflow is closed; a worker starts it again")
	}
	b.WriteString("\n")
	if len(health.Disabled) == 0 {
		b.WriteString("nothing is disabled\n")
	}
	b.WriteString(stateTable(health, names))
	b.WriteString(testTable(health.Tests, names))
	b.WriteString(neutralTable(health.Neutrals, names))
	if len(health.Enabled) > 0 {
		t := show.NewTable("enabled", "when", "by")
		for _, e := range health.Enabled {
			t.AppendRow(table.Row{names.of(e.Resource, e.Model, e.Endpoint), localTime(e.At), show.OneLine(e.By)})
		}
		b.WriteString(show.Render(t) + "\n")
	}
	for _, why := range health.Refused {
		b.WriteString("refused: " + show.OneLine(why) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// place is a route of a record: of two services one name may be at two addresses.
type place struct{ resource, model, endpoint string }

// placeNames writes routes. The zero value, as nil, names no address.
type placeNames map[string][]string // the addresses of each resource

// namesOf looks for resources that the record has at more than one address.
func namesOf(health onceward.PoolHealth) placeNames {
	names := placeNames{}
	add := func(resource, endpoint string) {
		if endpoint != "" && !slices.Contains(names[resource], endpoint) {
			names[resource] = append(names[resource], endpoint)
		}
	}
	for _, at := range placesOf(health) {
		add(at.resource, at.endpoint)
	}
	for _, e := range health.Enabled {
		add(e.Resource, e.Endpoint)
	}
	return names
}

func (n placeNames) of(resource, model, endpoint string) string {
	if len(n[resource]) < 2 || endpoint == "" {
		return routeText(resource, model)
	}
	return routeText(resource, model) + " @" + endpoint[:min(6, len(endpoint))]
}

// placesOf are all routes of a record, those first that are not as they should be.
func placesOf(health onceward.PoolHealth) []place {
	var all []place
	add := func(resource, model, endpoint string) {
		at := place{resource, model, endpoint}
		if !slices.Contains(all, at) && !slices.Contains(all, place{resource, model, ""}) { // which is about every address
			all = append(all, at)
		}
	}
	for _, d := range health.Disabled {
		add(d.Resource, d.Model, d.Endpoint)
	}
	for _, f := range slices.Concat(health.Reported, health.Alone) {
		add(f.Resource, f.Model, f.Endpoint)
	}
	for _, n := range health.Neutrals {
		add(n.Resource, n.Model, n.Endpoint)
	}
	return all
}

// stateTable has a row for each route, and for each worker that has found something
// alone.
func stateTable(health onceward.PoolHealth, names placeNames) string {
	places := placesOf(health)
	if len(places) == 0 {
		return ""
	}
	t := show.NewTable("route", "state", "class", "since", "until", "last test", "next test", "failed tests", "reason")
	for _, at := range places {
		name := names.of(at.resource, at.model, at.endpoint)
		last := lastTest(health, at)
		row := func(state string, class onceward.Class, since, until, next time.Time, failed int, reason string) {
			t.AppendRow(table.Row{name, show.OneLine(state), orDashText(string(class)), localTime(since), localTime(until), last, localTime(next), failed, show.OneLine(orDashText(reason))})
		}
		ok := true
		for _, d := range health.Disabled {
			if d.Resource != at.resource || d.Model != at.model && d.Model != "" || d.Endpoint != at.endpoint && d.Endpoint != "" {
				continue
			}
			state := "disabled by a test"
			if d.By != "" {
				state = "disabled by " + d.By
			}
			row(state, d.Class, d.Since, d.Until, d.NextTest, d.Failed, d.Reason)
			ok = false
		}
		for i, f := range slices.Concat(health.Reported, health.Alone) {
			if f.Resource != at.resource || f.Model != at.model || f.Endpoint != at.endpoint && at.endpoint != "" {
				continue
			}
			state := "reported by " + orDashText(f.By)
			if i >= len(health.Reported) {
				state = "alone at " + orDashText(f.By)
			}
			row(state, f.Class, f.At, f.Until, f.NextTest, f.Tried, f.Reason)
			ok = false
		}
		if ok {
			row("ok", "", time.Time{}, time.Time{}, time.Time{}, 0, "")
		}
	}
	return show.Render(t) + "\n"
}

// lastTest says when a route was tested last, and with what verdict.
func lastTest(health onceward.PoolHealth, at place) string {
	for _, test := range health.Tests {
		if test.Resource == at.resource && (test.Model == at.model || at.model == "") && (test.Endpoint == at.endpoint || test.Endpoint == "" || at.endpoint == "") {
			return localTime(test.At) + " " + string(verdictOf(test))
		}
	}
	return "-"
}

func testTable(tests []onceward.PoolTest, names placeNames) string {
	if len(tests) == 0 {
		return ""
	}
	t := show.NewTable("tested", "when", "verdict", "class", "tokens in/out", "by", "error")
	for _, test := range tests {
		t.AppendRow(table.Row{
			names.of(test.Resource, test.Model, test.Endpoint), localTime(test.At), verdictOf(test), orDashText(string(test.Class)),
			fmt.Sprintf("%d/%d", test.InputTokens, test.OutputTokens), show.OneLine(orDashText(test.By)), show.OneLine(orDashText(test.Error)),
		})
	}
	return show.Render(t) + "\n"
}

// neutralTable counts the neutral requests of all workers, and names the routes of
// which they tell nothing.
func neutralTable(counts []onceward.NeutralCount, names placeNames) string {
	if len(counts) == 0 {
		return ""
	}
	t := show.NewTable("neutral requests", "sent", "passed", "failed", "throttled", "unclear", "tokens in/out", "last")
	var unusable strings.Builder
	for _, n := range counts {
		name := names.of(n.Resource, n.Model, n.Endpoint)
		t.AppendRow(table.Row{name, n.Sent(), n.Passed, n.Failed, n.Throttled, n.Unclear, fmt.Sprintf("%d/%d", n.InputTokens, n.OutputTokens), localTime(n.Last)})
		if n.Unusable != "" {
			fmt.Fprintf(&unusable, "  %s is only ever avoided, because neutral requests tell nothing of it: %s\n", name, show.OneLine(n.Unusable))
		}
	}
	return show.Render(t) + "\n" + unusable.String()
}
