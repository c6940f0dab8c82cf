// Package onceward is the vocabulary of Onceward: durable LLM agents on Temporal
// that only go forward. A recovered run never repeats a committed side effect,
// and a model call goes to a resource that can serve it, for a reason that is on
// record.
//
// An agent is declared as a package variable: instructions, a task class, and
// tools over methods of the user's own type. [Read] declares a tool that may be
// called again. [Write] declares a tool with a side effect; it needs an
// [ActionID] made from business arguments and a reconciliation read, or it does
// not compile.
//
// A run is an ordinary Temporal workflow whose history is the ledger of its
// attempts and its transcript. A side effect is an Action, a workflow of its own
// with the id action/<action id>, so that a reset of the run, a second run or a
// restarted worker meets the same [ActionReceipt]. Package workflows has the
// loop, package worker the wiring; this package has only the words.
package onceward
