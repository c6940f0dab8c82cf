// Package chaos runs random schedules of faults against the product and counts
// from outside. A schedule follows from its seed alone: which faults, in which
// order, and at which observed signal each of them strikes.
package chaos

import (
	"testing"

	"github.com/onceward/onceward/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
