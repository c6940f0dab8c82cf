// Package demo tells stories of faults with real parts and real processes, and
// checks what it claims about them.
package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/onceward/onceward/cmd/onceward/internal/devserver"
	"github.com/onceward/onceward/cmd/onceward/internal/local"
)

const (
	// storyLimit is for a starved machine: a story takes seconds.
	storyLimit = 10 * time.Minute
	stopGrace  = 10 * time.Second
)

// Config is what a story needs. Executable and Timing are required.
type Config struct {
	Temporal   devserver.Config
	Executable string // this program: the worker is a process of its own
	Timing     local.Timing
	Say        func(format string, args ...any) // progress, from several goroutines; nil: silence
}

// Told is a story that was told, for whoever prints it. Close it.
type Told interface {
	// Print writes what happened and the claims for people.
	Print(w io.Writer) error
	// Broken returns the claims that do not hold.
	Broken() []Claim
	// Look says where to look at the story while it is up: the UI, Temporal's
	// address, and a run.
	Look() (ui, address, run string)
	// Close stops everything. It is safe on a story that began only in part.
	Close()
}

// Tell is the signature of all stories. A claim that does not hold is no error:
// the story says so. The story is never nil, as something may have to be closed.
type Tell func(ctx context.Context, cfg Config) (Told, error)

// Stories are the stories by name.
var Stories = map[string]Tell{"refund": Refund, "quiz": Quiz, "pool": Pool}

// Claim is one sentence about a story that was checked.
type Claim struct {
	Claim string `json:"claim"`
	Holds bool   `json:"holds"`
	Found string `json:"found"`
}

// Head is what all stories have.
type Head struct {
	Story   string  `json:"story"`
	Holds   bool    `json:"holds"`
	Claims  []Claim `json:"claims"`
	UI      string  `json:"ui"`
	Address string  `json:"address"` // of Temporal

	cfg    Config
	stack  *local.Stack
	worker *workers
}

// unhurried is the configuration of a story that loses no worker in the middle of
// its work: with the product's own heartbeat one that is only slow does not look
// lost, which would be one attempt more.
func unhurried(cfg Config) Config {
	cfg.Timing.Heartbeat = 0
	return cfg
}

// begin makes the head of a story that has not started yet.
func begin(name string, cfg Config) Head {
	speak := cfg.Say
	if speak == nil {
		speak = func(string, ...any) {}
	}
	var mu sync.Mutex
	cfg.Say = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		speak(format, args...)
	}
	return Head{Story: name, cfg: cfg, worker: &workers{cfg: cfg, killed: make(chan struct{})}}
}

// start starts the stack.
func (h *Head) start(ctx context.Context, cfg local.Config) (err error) {
	cfg.Temporal, cfg.Timing = h.cfg.Temporal, h.cfg.Timing
	if h.stack, err = local.Start(ctx, cfg); err != nil {
		return fmt.Errorf("start the story: %w", err)
	}
	h.UI, h.Address = h.stack.Temporal.UI, h.stack.Temporal.Address
	h.cfg.Say("Temporal %s, UI %s", h.Address, h.UI)
	return nil
}

// dial connects quietly.
func (h *Head) dial(ctx context.Context) (client.Client, error) {
	c, err := client.DialContext(ctx, client.Options{HostPort: h.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal: %w", err)
	}
	return c, nil
}

func (h *Head) claim(claims []Claim) {
	h.Claims, h.Holds = claims, len(claims) > 0
	for _, c := range claims {
		h.Holds = h.Holds && c.Holds
	}
}

// Broken implements Told.
func (h *Head) Broken() []Claim {
	var broken []Claim
	for _, c := range h.Claims {
		if !c.Holds {
			broken = append(broken, c)
		}
	}
	return broken
}

// Close implements Told.
func (h *Head) Close() {
	h.worker.stop()
	if h.stack != nil {
		_ = h.stack.Close() // nothing of it is needed any more
	}
}

func (h *Head) printClaims(w io.Writer) error {
	for _, c := range h.Claims {
		mark := "holds "
		if !c.Holds {
			mark = "BROKEN"
		}
		if _, err := fmt.Fprintf(w, "%s  %s: %s\n", mark, c.Claim, c.Found); err != nil {
			return err
		}
	}
	return nil
}
