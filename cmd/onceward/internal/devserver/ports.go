package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/onceward/onceward"
)

const (
	// knock bounds the connection to a loopback port: what listens there answers at
	// once, and what is full does not matter.
	knock = 2 * time.Second
	// askWho bounds the question to whoever has a port.
	askWho = 3 * time.Second
	// maxSaid bounds what is read of an answer, in bytes, and of a name in it.
	maxSaid = 64 << 10
	maxName = 60
)

// loopbacks are the addresses by which a local client may reach a port. localhost
// is either: with only one of them ours, it would lead to two programs.
var loopbacks = []string{"127.0.0.1", "::1"}

// Port is a port that was asked for, and the flag that asked.
type Port struct {
	Flag   string // without its dashes
	Number int    // 0: a free one is chosen, and nothing is checked
}

// Check refuses ports that somebody has, before anything is started: the error
// names the port, what seems to be there and the remedy.
func Check(ctx context.Context, ports ...Port) error {
	var errs []error
	flags := map[int]string{}
	for _, p := range ports {
		switch other := flags[p.Number]; {
		case p.Number == 0:
		case p.Number < 0 || p.Number > 65535:
			errs = append(errs, fmt.Errorf("check --%s: %d is no port, want 1 to 65535", p.Flag, p.Number))
		case other != "":
			errs = append(errs, fmt.Errorf("check --%s: port %d is that of --%s as well", p.Flag, p.Number, other))
		default:
			flags[p.Number] = p.Flag
			if err := free(p.Number); err != nil {
				errs = append(errs, fmt.Errorf("check --%s: %w; choose another port, leave --%s out for a free one, or stop what is there", p.Flag, taken(ctx, p.Number, err), p.Flag))
			}
		}
	}
	return errors.Join(errs...)
}

// free asks for a port in both ways, on both loopback addresses. Some systems let
// two programs listen on one port when only one of them names an address, so that
// a bind alone finds nothing; and a program that does not accept is found only by it.
func free(port int) error {
	for i, host := range loopbacks {
		address := net.JoinHostPort(host, strconv.Itoa(port))
		if c, err := net.DialTimeout("tcp", address, knock); err == nil {
			self := c.LocalAddr().String() == c.RemoteAddr().String() // the system chose this very port for our end
			_ = c.Close()
			if self {
				continue
			}
			return fmt.Errorf("listen on %s: %w", address, syscall.EADDRINUSE)
		}
		l, err := net.Listen("tcp", address)
		switch {
		case err == nil:
			if err := l.Close(); err != nil {
				return err
			}
		case i == 0 || errors.Is(err, syscall.EADDRINUSE): // a machine without IPv6 has nobody there
			return err
		}
	}
	return nil
}

// taken says of a port that is not free what seems to be there.
func taken(ctx context.Context, port int, err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d cannot be had: %w", port, err)
	}
	return fmt.Errorf("port %d is taken: %s", port, Who(ctx, port))
}

// Who says what answers at a loopback port, as far as it tells.
func Who(ctx context.Context, port int) string {
	ctx, cancel := context.WithTimeout(ctx, askWho)
	defer cancel()
	for _, host := range loopbacks {
		address := net.JoinHostPort(host, strconv.Itoa(port))
		c, err := (&net.Dialer{Timeout: knock}).DialContext(ctx, "tcp", address)
		if err != nil {
			continue
		}
		_ = c.Close()
		for _, ask := range []func(context.Context, string) string{temporalAt, webAt} {
			if said := ask(ctx, address); said != "" {
				return said + " answers at " + address
			}
		}
		return "a program that does not say what it is listens at " + address
	}
	return "something holds it and accepts no connection"
}

// temporalAt asks as a Temporal client does, one request without a namespace.
func temporalAt(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, askWho/2)
	defer cancel()
	c, err := client.NewLazyClient(client.Options{HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return ""
	}
	defer c.Close()
	info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	var denied *serviceerror.PermissionDenied
	var unimplemented *serviceerror.Unimplemented
	switch {
	case err == nil && info.GetServerVersion() != "":
		return "a Temporal server (" + named(info.GetServerVersion()) + ")"
	case err == nil, errors.As(err, &denied):
		return "a Temporal server"
	case errors.As(err, &unimplemented):
		return "a gRPC server"
	}
	return ""
}

// webAt asks as a browser does.
func webAt(ctx context.Context, address string) string {
	// Every Temporal UI has this page; of others it is just one that is not there.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v1/settings", nil)
	if err != nil {
		return ""
	}
	own := &http.Client{ // no proxy and no second address: who is at this one is the question
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := own.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	var settings struct {
		DefaultNamespace *string
		Version          string
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxSaid))
	if err == nil && json.Unmarshal(raw, &settings) == nil && settings.DefaultNamespace != nil {
		return "a Temporal UI (" + named(settings.Version) + ")"
	}
	if server := named(res.Header.Get("Server")); server != "" {
		return "an HTTP server (" + server + ")"
	}
	return "an HTTP server"
}

func named(s string) string { return onceward.Cut(onceward.PrintableLine(s), maxName) }

// FreePort returns a loopback port that is free now.
func FreePort() (int, error) {
	for try := 1; ; try++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		err = free(port)
		if err == nil || try == startTries {
			return port, err
		}
	}
}

// PortOr returns the wanted port if it is free now, else another.
func PortOr(wanted int) (int, error) {
	if free(wanted) != nil {
		return FreePort()
	}
	return wanted, nil
}
