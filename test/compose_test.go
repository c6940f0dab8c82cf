package test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/worker/config"
)

// composeFile is the part of docker-compose.yml that these tests look at.
type composeFile struct {
	Services map[string]composeService `yaml:"services"`
	Volumes  map[string]any            `yaml:"volumes"`
}

type composeService struct {
	Image string `yaml:"image"`
	Build struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
		Target     string `yaml:"target"`
	} `yaml:"build"`
	DependsOn map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	HealthCheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

// oneShot names the services that end; the others must say when they are ready.
var oneShot = []string{"setup"}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	raw, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var f composeFile
	if err := yaml.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestComposeHasEveryPart(t *testing.T) {
	t.Parallel()
	f := readCompose(t)
	for _, name := range []string{"postgresql", "temporal", "temporal-ui", "payments", "pool", "worker"} {
		if _, ok := f.Services[name]; !ok {
			t.Errorf("no service %s", name)
		}
	}
}

func TestComposePublishesOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	published := 0
	for name, s := range readCompose(t).Services {
		for _, port := range s.Ports {
			published++
			if !strings.HasPrefix(port, "127.0.0.1:") || strings.Count(port, ":") != 2 {
				t.Errorf("service %s publishes %s, which is not 127.0.0.1:HOST:CONTAINER", name, port)
			}
		}
	}
	if published == 0 {
		t.Error("nothing is published: the UI could not be opened")
	}
}

func TestComposeServicesWaitForHealthyOnes(t *testing.T) {
	t.Parallel()
	f := readCompose(t)
	for name, s := range f.Services {
		ends := slices.Contains(oneShot, name)
		if ends == (len(s.HealthCheck.Test) > 0) {
			t.Errorf("service %s: health check %v, ends by itself %t", name, s.HealthCheck.Test, ends)
		}
		for dep, on := range s.DependsOn {
			want := "service_healthy"
			if slices.Contains(oneShot, dep) {
				want = "service_completed_successfully"
			}
			if _, ok := f.Services[dep]; !ok || on.Condition != want {
				t.Errorf("service %s waits for %s with %q, want an existing service with %q", name, dep, on.Condition, want)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, ok := f.Volumes[source]; !ok && !strings.HasPrefix(source, ".") {
				t.Errorf("service %s mounts the volume %s, which is not declared", name, source)
			}
		}
	}
}

func TestComposeImagesArePinned(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile("../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range readCompose(t).Services {
		if s.Image != "" {
			if _, tag, ok := strings.Cut(s.Image, ":"); !ok || tag == "latest" {
				t.Errorf("service %s: image %s has no version", name, s.Image)
			}
			continue
		}
		if s.Build.Dockerfile != "deploy/Dockerfile" || !strings.Contains(string(dockerfile), " AS "+s.Build.Target+"\n") {
			t.Errorf("service %s builds target %q of %q, which is not there", name, s.Build.Target, s.Build.Dockerfile)
		}
	}
}

// The configuration and the scripted pool of docker-compose.yml have to fit: the
// same resources, ports and key.
func TestComposeConfigurationFitsItsPool(t *testing.T) {
	t.Parallel()
	env := readCompose(t).Services["worker"].Environment
	var environ []string
	for k, v := range env {
		environ = append(environ, k+"="+v)
	}
	text, err := os.ReadFile("../deploy/onceward.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse("onceward.yaml", text, environ)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("../deploy/pool.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pool, err := routertest.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Pool.Resources) != len(pool.Resources) {
		t.Fatalf("%d resources configured, %d served", len(cfg.Pool.Resources), len(pool.Resources))
	}
	for i, served := range pool.Resources {
		want := cfg.Pool.Resources[i]
		path := served.BasePath
		if path == "" {
			path = "/openai/v1/"
		}
		_, port, _ := strings.Cut(served.Addr, ":")
		if url := "http://pool:" + port + path; served.Name != want.Name || url != want.BaseURL {
			t.Errorf("resource %d: %s at %s served, %s at %s configured", i, served.Name, url, want.Name, want.BaseURL)
		}
		if served.Key != env["SCRIPTED_POOL_KEY"] {
			t.Errorf("resource %s demands another key than the worker has", served.Name)
		}
	}
}
