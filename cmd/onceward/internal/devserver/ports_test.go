package devserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// stranger is somebody who has a port of this machine.
func stranger(t *testing.T, address string) (net.Listener, int) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this machine cannot listen on %s: %v", address, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}

// otherTemporal is a Temporal server that is not ours: it says its version and has
// every namespace.
type otherTemporal struct {
	workflowservice.UnimplementedWorkflowServiceServer
}

func (otherTemporal) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{ServerVersion: "1.99.0\x1b[2J"}, nil
}

func (otherTemporal) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func serveTemporal(t *testing.T, l net.Listener) {
	t.Helper()
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, otherTemporal{})
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
}

func serveHTTP(t *testing.T, l net.Listener, handler http.HandlerFunc) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
}

func TestPortThatSomebodyHasIsRefusedWithWhoAndRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		address string
		serve   func(*testing.T, net.Listener)
		want    string
	}{
		"E40 a Temporal server": {"127.0.0.1:0", serveTemporal, "a Temporal server (1.99.0[2J) answers at 127.0.0.1:"},
		"E40 a Temporal server on IPv6 only, which localhost may lead to": {"[::1]:0", serveTemporal, "a Temporal server (1.99.0[2J) answers at [::1]:"},
		"a gRPC server of another kind": {"127.0.0.1:0", func(t *testing.T, l net.Listener) {
			server := grpc.NewServer()
			go func() { _ = server.Serve(l) }()
			t.Cleanup(server.Stop)
		}, "a gRPC server answers at"},
		"a Temporal UI": {"127.0.0.1:0", func(t *testing.T, l net.Listener) {
			serveHTTP(t, l, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"DefaultNamespace":"default","Version":"2.42.1"}`))
			})
		}, "a Temporal UI (2.42.1) answers at"},
		"a web server": {"127.0.0.1:0", func(t *testing.T, l net.Listener) {
			serveHTTP(t, l, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Server", "nginx/1.29") })
		}, "an HTTP server (nginx/1.29) answers at"},
		"a web server that leads elsewhere": {"127.0.0.1:0", func(t *testing.T, l net.Listener) {
			serveHTTP(t, l, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
			})
		}, "an HTTP server answers at"},
		"a program on all addresses": {"0.0.0.0:0", serveTemporal, "a Temporal server"},
		"a program that hangs up": {"127.0.0.1:0", func(_ *testing.T, l net.Listener) {
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_ = c.Close()
				}
			}()
		}, "a program that does not say what it is listens at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, port := stranger(t, c.address)
			c.serve(t, l)
			err := Check(t.Context(), Port{"port", port})
			if err == nil {
				t.Fatal("the port was not refused")
			}
			for _, want := range []string{"--port", fmt.Sprintf("port %d is taken", port), c.want, "leave --port out", "stop what is there"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

func TestPortsThatCannotBeAreRefusedTogether(t *testing.T) {
	t.Parallel()
	err := Check(t.Context(), Port{"port", 70000}, Port{"ui-port", -1}, Port{"payments-port", 0}, Port{"pool-port", 0})
	if err == nil || !strings.Contains(err.Error(), "--port: 70000 is no port") || !strings.Contains(err.Error(), "--ui-port: -1 is no port") {
		t.Errorf("%v, want a refusal of both", err)
	}
	free, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), Port{"port", free}, Port{"ui-port", free}); err == nil || !strings.Contains(err.Error(), "is that of --port as well") {
		t.Errorf("one port for two parts: %v", err)
	}
	if err := Check(t.Context(), Port{"port", free}); err != nil {
		t.Errorf("a port that nobody has: %v", err)
	}
}

func TestPortOrTakesAnotherWhenTheWantedOneIsTaken(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			_, taken := stranger(t, address)
			if got, err := PortOr(taken); err != nil || got == taken || got == 0 {
				t.Errorf("got %d, %v, want another port than %d", got, err, taken)
			}
		})
	}
}

// cli is a Temporal CLI of a few lines of shell.
func cli(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "temporal")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// pipe is a file that a shell and a test wait for each other at.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartRefusesAPortThatSomebodyHasBeforeItStartsAnything(t *testing.T) {
	t.Parallel()
	l, port := stranger(t, "127.0.0.1:0")
	serveTemporal(t, l)
	started := filepath.Join(t.TempDir(), "started")
	_, err := Start(t.Context(), Config{CLI: cli(t, "touch "+started), Port: port})
	if err == nil || !strings.Contains(err.Error(), "a Temporal server") {
		t.Errorf("E40: %v, want a refusal that names the Temporal server", err)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("E40: the Temporal CLI was started all the same")
	}
}

// The stranger comes between the check and the start: the child cannot have its
// port and ends, and what answers is not ours.
func TestServerOfSomebodyElseIsNotJoined(t *testing.T) {
	t.Parallel()
	l, port := stranger(t, "127.0.0.1:0")
	serveTemporal(t, l)
	ui, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s, err := start(t.Context(), cli(t, "echo 'address already in use' >&2; exit 1"), Config{Port: port, UIPort: ui})
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("E40: got %v, %v, want an end with what the child said", s, err)
	}
	chosen, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	up, down := pipe(t), pipe(t)
	came := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(up) // the child is up
		l, listening := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(chosen)))
		if listening == nil {
			serveTemporal(t, l)
		}
		came <- errors.Join(err, listening, os.WriteFile(down, []byte("taken\n"), 0o600))
	}()
	// This child ends only when the stranger has its port.
	path := cli(t, "echo up >"+up+"; read -r taken <"+down+"; exit 1")
	_, err = Start(t.Context(), Config{CLI: path, Port: chosen, UIPort: ui})
	if came := <-came; came != nil {
		t.Fatal(came)
	}
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), fmt.Sprintf("port %d is taken: a Temporal server", chosen)) {
		t.Errorf("E40: %v, want an end that says who has come", err)
	}
}
