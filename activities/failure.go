package activities

import (
	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// failed turns a failed attempt into the error a workflow reads: typed by class,
// never retried by Temporal, with the Failure and the Settlement as details.
func failed(f *onceward.Failure, settled onceward.Settlement) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Class), temporal.ApplicationErrorOptions{
		NonRetryable: true, // one owner of retries: the run
		Details:      []any{f, settled},
	})
}

// notSent is the error of an attempt that ended before anything was written to
// the network: the run takes its reservation back.
func notSent(message string) error {
	return failed(onceward.NotSentFailure(onceward.ClassWorkerLost, message), onceward.Settlement{CostBasis: onceward.CostMeasured})
}
