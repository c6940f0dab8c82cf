package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/local"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/quiz"
	"github.com/onceward/onceward/worker"
)

// quizMembers are asked in this order: a weight that is ten thousand times the
// next one's wins the rendezvous all but once in ten thousand runs.
var quizMembers = []local.Member{{Name: "A", Weight: 1e12}, {Name: "B", Weight: 1e8}, {Name: "C", Weight: 1e4}, {Name: "D", Weight: 1}}

// recordLimit is how long the Pool's record may take to show what a worker found.
const recordLimit = 2 * time.Minute

// QuizStory is what happened to two quizzes.
type QuizStory struct {
	Head
	Runs   []QuizRun           `json:"runs"`
	Record onceward.PoolHealth `json:"pool"` // the Pool workflow's, at the end
	Killed bool                `json:"worker_killed"`
}

// QuizRun is one run.
type QuizRun struct {
	Asked   map[string]int `json:"asked"` // requests by resource, counted by the pool
	Seconds float64        `json:"seconds"`
	Run     show.Report    `json:"run"`
}

// Look implements Told.
func (s *QuizStory) Look() (ui, address, run string) { return s.UI, s.Address, "quiz-1" }

// Quiz tells the story of a chain of resources of which only the last one works.
func Quiz(ctx context.Context, cfg Config) (Told, error) {
	s := &QuizStory{Head: begin("quiz", unhurried(cfg))}
	if err := s.start(ctx, local.Config{Members: quizMembers, Model: local.SampleModel()}); err != nil {
		return s, err
	}
	s.cfg.Say("four resources: A answers 402, B an empty 200, C prose where JSON was asked, D works")
	err := s.stack.Pool.SetFaults(
		routertest.FailWith(402, "").On("A"),
		routertest.Fault{Kind: routertest.FaultEmpty, Resource: "B"},
		routertest.Fault{Kind: routertest.FaultProse, Resource: "C"},
	)
	if err != nil {
		return s, fmt.Errorf("set the story's faults: %w", err)
	}
	s.stack.Pool.OnDone(func(r routertest.Request) {
		what := "answers with a quiz"
		if r.Outcome.Fault != "" {
			what = fmt.Sprintf("answers %d (%s)", r.Outcome.Status, r.Outcome.Fault)
		}
		s.cfg.Say("%s %s", r.Resource, what)
	})
	if err := s.tell(ctx); err != nil {
		return s, errors.Join(err, s.worker.said())
	}
	s.claim(s.claims())
	return s, nil
}

// tell runs a quiz, replaces the worker, and runs another.
func (s *QuizStory) tell(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storyLimit)
	defer cancel()
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := s.worker.start(s.stack.ConfigFile, s.stack.PaymentsURL); err != nil {
		return err
	}
	if err := s.run(ctx, c, "quiz-1", "rivers"); err != nil {
		return err
	}
	if err := s.recorded(ctx, c); err != nil {
		return err
	}
	if err := s.worker.kill(); err != nil {
		return err
	}
	s.Killed = true
	if err := s.worker.start(s.stack.ConfigFile, s.stack.PaymentsURL); err != nil {
		return err
	}
	if err := s.run(ctx, c, "quiz-2", "mountains"); err != nil {
		return err
	}
	if s.Record, err = worker.ReadPool(ctx, c, "main"); err != nil {
		return fmt.Errorf("read the pool's record: %w", err)
	}
	return nil
}

// run runs one quiz and counts who was asked meanwhile.
func (s *QuizStory) run(ctx context.Context, c client.Client, id, topic string) error {
	before := s.asked()
	begun := time.Now()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: "onceward", StaticSummary: "quiz about " + topic},
		quiz.QuizWorkflow, onceward.Ask("Write a quiz. Topic: "+topic))
	if err != nil {
		return fmt.Errorf("start run %s: %w", id, err)
	}
	s.cfg.Say("run %s is started", id)
	if err := run.Get(ctx, nil); err != nil {
		return fmt.Errorf("wait for run %s: %w", id, err)
	}
	told := QuizRun{Asked: s.asked(), Seconds: time.Since(begun).Round(10 * time.Millisecond).Seconds()}
	for name, n := range before {
		told.Asked[name] -= n
	}
	if told.Run, err = show.Read(ctx, c, id); err != nil {
		return err
	}
	s.cfg.Say("run %s has ended", id)
	s.Runs = append(s.Runs, told)
	return nil
}

func (s *QuizStory) asked() map[string]int {
	asked := map[string]int{}
	for _, r := range s.stack.Pool.Resources() {
		asked[r.Name()] = r.Attempts()
	}
	return asked
}

// recorded waits until the Pool workflow knows that A is disabled: a worker tells
// it beside its work, and killing it before would prove nothing.
func (s *QuizStory) recorded(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		health, err := worker.ReadPool(ctx, c, "main")
		if err == nil && len(health.Disabled) > 0 {
			s.cfg.Say("the Pool workflow keeps: %s is disabled, %s", health.Disabled[0].Resource, health.Disabled[0].Reason)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the pool's record: nothing is disabled after %s: %w", recordLimit, errors.Join(err, ctx.Err()))
		case <-ticker.C:
		}
	}
}
