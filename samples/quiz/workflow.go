// Package quiz is a sample agent without tools: it asks for a structured answer
// and judges it itself, inside the rotation over the pool.
package quiz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/workflows"
)

// Quiz is the answer.
type Quiz struct {
	Topic     string     `json:"topic"`
	Questions []Question `json:"questions"`
}

// Question is one question of a quiz.
type Question struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Quizzes is the agent. An answer that is not JSON of type Quiz, or that accept
// refuses, is a failed attempt: another resource is asked, in the same turn and
// out of the same budget.
var Quizzes = onceward.Agent{
	Name:         "quizzes",
	Instructions: "Write a short quiz about the topic you are given, as JSON.",
	Task:         "quiz",
	Output:       onceward.JSON[Quiz]("quiz"),
	Accept:       accept,
}

// accept wants at least one question, and an answer to each.
func accept(_ context.Context, text string) error {
	var q Quiz
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		return fmt.Errorf("read quiz: %w", err)
	}
	if len(q.Questions) == 0 {
		return errors.New("the quiz has no questions")
	}
	for i, question := range q.Questions {
		if question.Question == "" || question.Answer == "" {
			return fmt.Errorf("question %d has no text or no answer", i+1)
		}
	}
	return nil
}

// QuizWorkflow is one run of the agent.
func QuizWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Quizzes, in)
}
