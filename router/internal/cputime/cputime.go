//go:build unix

// Package cputime measures what benchmarks cost: on a machine that others use as
// well, the clock says how busy they are.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the processor time of this process so far, user and system, on
// all processors; 0 where the system does not say.
func Used() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Benchmark is what Loop asks of a *testing.B.
type Benchmark interface {
	Loop() bool
	ReportMetric(n float64, unit string)
}

// Loop calls f as long as the benchmark goes on and reports its processor time as
// cpu-ns/op.
func Loop(b Benchmark, f func()) {
	began, n := Used(), 0
	for b.Loop() {
		f()
		n++
	}
	b.ReportMetric(float64(Used()-began)/float64(max(n, 1)), "cpu-ns/op")
}
