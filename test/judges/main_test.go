package judges

import (
	"testing"

	"github.com/onceward/onceward/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
