//go:build unix

package route

import (
	"fmt"
	"testing"

	"github.com/onceward/onceward/router/internal/cputime"
)

func BenchmarkSelect10(b *testing.B) {
	var all []*Candidate
	for i := range 10 {
		all = append(all, candidate(fmt.Sprint("resource-", i), "m"))
	}
	table, req := NewTable(all, true), ask()
	b.ReportAllocs()
	cputime.Loop(b, func() {
		if d := table.Select(req, now); d.Route == nil {
			b.Fatal("no route")
		}
	})
}
