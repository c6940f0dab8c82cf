package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/onceward/onceward"
)

// points are the moments before (start) and after (done) an activity's own code.
// After it, its result exists and nobody has recorded it.
var points = []string{
	"open_start", "before_open_marker", "select_start", "before_select_marker",
	"call_start", "call_done", "act_start", "act_done",
	"commit_start", "commit_done", "find_start", "find_done", "read_start", "read_done",
}

// point is a moment at which the process signals itself.
type point struct {
	name   string
	nth    int64
	signal syscall.Signal
	seen   atomic.Int64
}

func parsePoint(text string, signal syscall.Signal) (*point, error) {
	name, count, counted := strings.Cut(text, ":")
	p := &point{name: name, nth: 1, signal: signal}
	if counted {
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("point %q: the count is not a number of 1 or more", text)
		}
		p.nth = n
	}
	if name != "" && !slices.Contains(points, name) {
		return nil, fmt.Errorf("point %q: there is no such point; there are %s", text, strings.Join(points, ", "))
	}
	return p, nil
}

// reach signals the process if this is the moment. A process that killed itself
// never returns from here; one that stopped returns when it is continued.
func (p *point) reach(name string) {
	if p.name != name || p.seen.Add(1) != p.nth {
		return
	}
	if p.signal == syscall.SIGSTOP {
		halt()
		return
	}
	_ = syscall.Kill(os.Getpid(), p.signal)
	select {}
}

// halt stops the process and returns when it is continued. The signal may stop
// another thread first, and this one would go on for a moment: it waits for what
// ends the stop instead.
func halt() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-continued
}

// trap watches the activities of a worker.
type trap struct {
	interceptor.WorkerInterceptorBase
	points []*point
}

// InterceptActivity puts the trap around an activity.
func (t *trap) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &trapped{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, trap: t}
}

type trapped struct {
	interceptor.ActivityInboundInterceptorBase
	trap *trap
}

// ExecuteActivity reaches the points before and after.
func (t *trapped) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	before, after := pointsOf(activity.GetInfo(ctx).ActivityType.Name)
	t.trap.reach(before)
	result, err := t.Next.ExecuteActivity(ctx, in)
	t.trap.reach(after)
	return result, err
}

func (t *trap) reach(name string) {
	if name == "" {
		return
	}
	for _, p := range t.points {
		p.reach(name)
	}
}

func pointsOf(activityType string) (before, after string) {
	switch activityType {
	case onceward.ActivityOpen:
		return "open_start", "before_open_marker"
	case onceward.ActivitySelectRoute:
		return "select_start", "before_select_marker"
	case onceward.ActivityCallModel:
		return "call_start", "call_done"
	case onceward.ActivityAct:
		return "act_start", "act_done"
	}
	for _, kind := range []string{"commit", "find", "read"} {
		if strings.HasSuffix(activityType, "."+kind) {
			return kind + "_start", kind + "_done"
		}
	}
	return "", ""
}
