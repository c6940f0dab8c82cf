package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward/cmd/onceward/internal/devserver"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/worker/config"
)

func TestConfigurationIsOneThatTheWorkerAccepts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys, err := writeKeys(dir, Members)
	if err != nil {
		t.Fatal(err)
	}
	s := &Stack{members: Members, Temporal: &devserver.Server{Address: "127.0.0.1:7233"}}
	if err := s.startPool(Config{Model: routertest.RefundModel()}, keys); err != nil {
		t.Fatal(err)
	}
	defer s.Pool.Close()
	for name, timing := range map[string]Timing{
		"the product's": {},
		"a demo's":      {Heartbeat: 2 * time.Second, StickyTimeout: time.Second, Lease: 15 * time.Second, Attempt: 20 * time.Second},
	} {
		cfg, err := config.Parse(filepath.Join(dir, "onceward.yaml"), configuration(s, timing, whole), nil)
		if err != nil {
			t.Fatalf("timing of %s: %v", name, err)
		}
		for i, r := range cfg.Pool.Resources {
			if r.Name != Members[i].Name || r.Key.Reveal() != keys[r.Name] || r.BaseURL != s.Pool.Resource(r.Name).URL() {
				t.Errorf("resource %d is %s at %s with another credential or place", i, r.Name, r.BaseURL)
			}
		}
		if err := cfg.Check(); err != nil {
			t.Errorf("timing of %s: %v", name, err)
		}
	}
	single, err := config.Parse(filepath.Join(dir, "onceward.yaml"), configuration(s, Timing{}, view{queue: "single", pool: "single", only: []string{Members[1].Name}}), nil)
	if err != nil || single.Temporal.TaskQueue != "single" || single.Pool.Name != "single" || len(single.Pool.Resources) != 1 || single.Pool.Resources[0].Name != Members[1].Name {
		t.Errorf("a view of one resource is %+v, %v", single.Pool, err)
	}
	info, err := os.Stat(filepath.Join(dir, Members[0].Name+".key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the credential's file has mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestPaymentsListenOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "nonsense"} {
		s := &Stack{dir: t.TempDir()}
		if err := s.startPayments(Config{PaymentsAddr: addr}); err == nil {
			t.Errorf("payments listen on %s", addr)
			_ = s.Close()
		}
	}
}
