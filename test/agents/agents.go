// Package agents declares the agents of the process tests: the refund sample
// with a short settling time, and small agents that each show one declaration.
package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/quiz"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/workflows"
)

// Settle is how long after a lease the tests' payments service may still be at
// work: it pays within milliseconds.
const Settle = time.Second

// Patience is the Settle of an agent whose product may take that much longer.
const Patience = 8 * time.Second

// LeaseHeader is a header in which the tests' workers tell payments when the lease
// ends under which they send a request.
const LeaseHeader = "Test-Lease"

// instructions of the agents that refund.
const instructions = "Decide whether the order may be refunded, and refund it at most once."

// Activities carries out the tools of all agents but the sample's. Refund is
// required; the zero value is not usable. It is safe for concurrent use.
type Activities struct {
	Refund *refund.Activities

	mu   sync.Mutex
	read map[onceward.ActionID]bool // what the product said of it was accepted
}

func refundAction(in refund.RefundArgs) onceward.ActionID {
	return onceward.ActionID("refund/" + in.OrderID + "/v1")
}

// GetOrder reads an order.
func (a *Activities) GetOrder(ctx context.Context, in refund.OrderArgs) (refund.Order, error) {
	return a.Refund.GetOrder(ctx, in)
}

// CreateRefund pays.
func (a *Activities) CreateRefund(ctx context.Context, act onceward.Action, in refund.RefundArgs) (onceward.Receipt, error) {
	return a.Refund.CreateRefund(ctx, act, in)
}

// FindRefund looks for the refund.
func (a *Activities) FindRefund(ctx context.Context, act onceward.Action, in refund.RefundArgs) (onceward.Receipt, error) {
	return a.Refund.FindRefund(ctx, act, in)
}

// Refunds is the sample agent under its own name. Only the times differ: the
// sample's would make every test wait.
var Refunds = onceward.Agent{
	Name: refund.Refunds.Name, Instructions: refund.Refunds.Instructions, Task: "refund",
	Tools: []onceward.Tool{
		onceward.Read(onceward.Spec{Name: "get_order", Timeout: 4 * time.Second}, (*refund.Activities).GetOrder),
		onceward.Write(onceward.Spec{Name: "create_refund", Settle: Settle},
			refundAction, (*refund.Activities).CreateRefund, (*refund.Activities).FindRefund),
	},
}

// write declares create_refund on Activities as a spec says.
func write(spec onceward.Spec) []onceward.Tool {
	spec.Name = "create_refund"
	return []onceward.Tool{
		onceward.Read(onceward.Spec{Name: "get_order", Timeout: 4 * time.Second}, (*Activities).GetOrder),
		onceward.Write(spec, refundAction, (*Activities).CreateRefund, (*Activities).FindRefund),
	}
}

// The agents that differ in what they declare of one write tool.
var (
	Keyed     = onceward.Agent{Name: "keyed", Instructions: instructions, Task: "refund", Tools: write(onceward.Spec{Keyed: true})}
	Patient   = onceward.Agent{Name: "patient", Instructions: instructions, Task: "refund", Tools: write(onceward.Spec{Settle: Patience})}
	Unsettled = onceward.Agent{Name: "unsettled", Instructions: instructions, Task: "refund", Tools: write(onceward.Spec{})}
	Once      = onceward.Agent{Name: "once", Instructions: instructions, Task: "refund", Tools: write(onceward.Spec{Once: true, Settle: Settle})}
	Verified  = onceward.Agent{Name: "verified", Instructions: instructions, Task: "refund", Tools: write(onceward.Spec{VerifyByRead: true, Settle: Settle})}
)

// PageArgs asks for a page of so many bytes.
type PageArgs struct {
	Bytes int `json:"bytes" jsonschema:"how many bytes"`
}

// Page returns text of the size that was asked for.
func (a *Activities) Page(_ context.Context, in PageArgs) (string, error) {
	return strings.Repeat("p", in.Bytes), nil
}

// Empty is a tool that has nothing to say.
func (a *Activities) Empty(context.Context, struct{}) (string, error) { return "", nil }

// Wait does nothing until it is told to end, and says so.
func (a *Activities) Wait(ctx context.Context, _ struct{}) (string, error) {
	fmt.Fprintln(os.Stderr, "the tool waits")
	<-ctx.Done()
	fmt.Fprintln(os.Stderr, "the tool was told to end")
	return "", ctx.Err()
}

// CountArgs is any text.
type CountArgs struct {
	Text string `json:"text" jsonschema:"what is counted"`
}

// Count says how long a text is.
func (a *Activities) Count(_ context.Context, in CountArgs) (int, error) { return len(in.Text), nil }

// Broken is a tool that always fails.
func (a *Activities) Broken(context.Context, struct{}) (string, error) {
	return "", errors.New("the shelf is empty")
}

// NoteArgs names a note by free text, which makes no valid action id where it
// holds a space.
type NoteArgs struct {
	Title string `json:"title" jsonschema:"of the note"`
}

// WriteNote has no effect that anybody counts.
func (a *Activities) WriteNote(_ context.Context, _ onceward.Action, in NoteArgs) (onceward.Receipt, error) {
	return onceward.Committed(fmt.Sprintf("note-%d", len(in.Title))), nil
}

// FindNote never finds one.
func (a *Activities) FindNote(context.Context, onceward.Action, NoteArgs) (onceward.Receipt, error) {
	return onceward.Absent(), nil
}

// Reader has tools that are quick, large, empty or broken, and a write whose id
// the model can spoil.
var Reader = onceward.Agent{
	Name: "reader", Instructions: "Read what is asked for.", Task: "long",
	Tools: []onceward.Tool{
		onceward.Read(onceward.Spec{Name: "page", MaxOutput: onceward.MaxOutput}, (*Activities).Page),
		onceward.Read(onceward.Spec{Name: "empty"}, (*Activities).Empty),
		onceward.Read(onceward.Spec{Name: "line"}, (*Activities).Page),
		onceward.Read(onceward.Spec{Name: "count"}, (*Activities).Count),
		onceward.Read(onceward.Spec{Name: "wait", Timeout: 10 * time.Minute}, (*Activities).Wait),
		onceward.Read(onceward.Spec{Name: "broken", MaxAttempts: 2}, (*Activities).Broken),
		onceward.Write(onceward.Spec{Name: "write_note", Settle: Settle},
			func(in NoteArgs) onceward.ActionID { return onceward.ActionID("note/" + in.Title) },
			(*Activities).WriteNote, (*Activities).FindNote),
	},
}

// Greedy may do more in one response than others.
var Greedy = onceward.Agent{
	Name: "greedy", Instructions: "Read all of it at once.", Task: "long",
	Limits: onceward.TurnLimits{Calls: 512, ReadsInFlight: 64, OutputBytes: 8 << 20},
	Tools: []onceward.Tool{
		onceward.Read(onceward.Spec{Name: "line"}, (*Activities).Page),
		onceward.Read(onceward.Spec{Name: "page", MaxOutput: onceward.MaxOutput}, (*Activities).Page),
	},
}

// KeepArgs hold every shape of value that a model writes.
type KeepArgs struct {
	ID     string `json:"id" jsonschema:"what is kept"`
	Amount int64  `json:"amount" jsonschema:"how much"`
	Text   string `json:"text" jsonschema:"any text"`
	Box    Box    `json:"box"`
	Why    string `json:"why" onceward:"incidental" jsonschema:"free text"`
}

// Box is nested.
type Box struct {
	Kind string  `json:"kind"`
	List []int64 `json:"list"`
}

// Keep answers with a digest of what it was given, which is what a test compares
// with what was recorded.
func (a *Activities) Keep(_ context.Context, _ onceward.Action, in KeepArgs) (onceward.Receipt, error) {
	seen, err := json.Marshal(in)
	if err != nil {
		return onceward.Receipt{}, err
	}
	return onceward.Committed(onceward.DigestBytes(seen)), nil
}

// FindKept never finds anything.
func (a *Activities) FindKept(context.Context, onceward.Action, KeepArgs) (onceward.Receipt, error) {
	return onceward.Absent(), nil
}

// Keeper keeps what it is given.
var Keeper = onceward.Agent{
	Name: "keeper", Instructions: "Keep what you are given.", Task: "refund",
	Tools: []onceward.Tool{
		onceward.Write(onceward.Spec{Name: "keep", Settle: Settle},
			func(in KeepArgs) onceward.ActionID { return onceward.ActionID("keep/" + in.ID) },
			(*Activities).Keep, (*Activities).FindKept),
	},
}

// Talker has no tools.
var Talker = onceward.Agent{Name: "talker", Instructions: "Answer at length.", Task: "long"}

// The workflows of the agents above.
func KeyedWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Keyed, in)
}
func PatientWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Patient, in)
}
func UnsettledWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Unsettled, in)
}
func OnceWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Once, in)
}
func VerifiedWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Verified, in)
}
func KeeperWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Keeper, in)
}
func ReaderWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Reader, in)
}

func GreedyWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Greedy, in)
}

// TalkTurns is how many turns TalkWorkflow makes.
const TalkTurns = 100

// TalkWorkflow is a loop of its own: it goes on for TalkTurns turns without any
// tool.
func TalkWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	run, err := workflows.Open(ctx, Talker, in)
	if err != nil {
		return onceward.Result{}, err
	}
	var turn onceward.Turn
	for range TalkTurns {
		if turn, err = run.Next(ctx); err != nil {
			return onceward.Result{}, err
		}
		if turn.Outcome != onceward.OutcomeCompleted {
			break
		}
	}
	return run.Close(ctx, turn)
}

// Registration is an agent with the workflow that runs it.
type Registration struct {
	Workflow any
	Agent    onceward.Agent
}

// All are the agents that Activities carries out, and the quiz sample, which has
// no tools; Refunds is carried out by the sample's own.
var All = []Registration{
	{KeyedWorkflow, Keyed}, {PatientWorkflow, Patient}, {UnsettledWorkflow, Unsettled}, {OnceWorkflow, Once}, {VerifiedWorkflow, Verified},
	{BankWorkflow, Bank}, {KeeperWorkflow, Keeper}, {ReaderWorkflow, Reader}, {GreedyWorkflow, Greedy}, {TalkWorkflow, Talker}, {quiz.QuizWorkflow, quiz.Quizzes},
	{AcceptingWorkflow, Accepting}, {ServingWorkflow, Serving}, {AskingWorkflow, Asking}, {FourEyesWorkflow, FourEyes},
}
