// Package classify turns whatever a resource, a gateway or the network answered
// into one onceward.Failure.
//
// It is the only place in the module that matches on texts. Four steps, each in
// files of its own:
//
//  1. envelope.go and walk.go bring every known shape (nested error object, error
//     string, flat object, list, detail, gateway JSON, JSON inside a message, SSE
//     frames, pages, plain text) to the same few fields: codes, message text, status
//     and, for a success, what the answer holds. What does not decode is text.
//  2. rules*.go are one ordered table from those fields to a class, rules/*.txt the
//     wordings of each rule, one a line (words.go). The first rule that matches
//     decides: specific codes and messages first, then the HTTP status, then generic
//     types, which say next to nothing.
//  3. look.go decides again where the words may be the caller's own.
//  4. Packages waits and redact fill in how long to stay away and a message that is
//     safe to store.
//
// A class decides what the run does next. Health does not rest on it: a failure raises
// a suspicion, and a neutral request convicts. A new wording is one line of a rule file
// and one record of testdata (CONTRIBUTING.md).
//
// Classify takes any bytes: it never panics, it reads at most MaxBody bytes and its
// time is linear in them. All functions are safe for concurrent use.
package classify

//go:generate go run ../../scripts/gendocs -out ../../docs/failures.md
