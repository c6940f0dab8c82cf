package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// ReadFunc returns the activity of a read tool. Its result is the call's output
// item. It fails only while Temporal may retry it; the last failure becomes an
// answer for the model.
func ReadFunc(tool Tool) func(context.Context, onceward.ReadInput) (onceward.Item, error) {
	return func(ctx context.Context, in onceward.ReadInput) (onceward.Item, error) {
		stop := beat(ctx, activity.GetInfo(ctx).HeartbeatTimeout, func() any { return tool.Tool.Spec.Name })
		defer stop()
		out, err := tool.Read(onceward.WithCaller(ctx, in.Caller), in.Args)
		if err != nil {
			if int(activity.GetInfo(ctx).Attempt) < in.MaxAttempts && ctx.Err() == nil {
				return onceward.Item{}, err
			}
			activity.GetLogger(ctx).Warn("the tool failed for the last time", "tool", tool.Tool.Spec.Name, "error", err)
			return onceward.CallError(in.CallID, "tool_failed", toolError(err)), nil
		}
		return outputItem(in.CallID, out, in.MaxOutput), nil
	}
}

// toolError is what the model hears of a tool's last error. The errors of a network
// hold addresses of the inside, which would end in an answer to a customer; they
// stay in the log and in the history's earlier attempts.
func toolError(err error) string {
	if network(err) {
		return "the tool's service did not answer"
	}
	return err.Error()
}

// outputItem writes a tool's result as the model reads it: a JSON string as its
// text, everything else as JSON. limit bounds it in the form that the transcript
// holds, which is what the turn has reserved; zero is MaxOutput.
func outputItem(callID string, out json.RawMessage, limit int) onceward.Item {
	if limit <= 0 {
		limit = onceward.MaxOutput
	}
	tooLarge := func(size int) onceward.Item {
		return onceward.CallError(callID, "output_too_large", fmt.Sprintf("the tool returned %d bytes, at most %d are allowed: ask for less", size, limit))
	}
	if len(out) > limit {
		return tooLarge(len(out))
	}
	text := string(out)
	if len(out) > 0 && out[0] == '"' {
		if err := json.Unmarshal(out, &text); err != nil {
			return onceward.CallError(callID, "tool_failed", fmt.Sprintf("the tool's result is not JSON: %v", err))
		}
	}
	item, err := onceward.CallOutput(callID, text)
	if err != nil {
		return onceward.CallError(callID, "output_too_large", fmt.Sprintf("the tool returned %d bytes, too many for one item: %v", len(out), err))
	}
	if size := len(item.Raw) - bareOutput; size > limit { // JSON in a JSON string grows by its escapes
		return tooLarge(size)
	}
	return item
}

// bareOutput is what an output item has beside its output, about.
const bareOutput = 150

// CommitFunc returns the commit activity of a write tool: read, guard, commit,
// in one activity, because two gave two effects when somebody reset the Action
// between them. An error means that the commit may have been sent.
func CommitFunc(tool Tool) func(context.Context, onceward.CommitInput) (onceward.CommitResult, error) {
	return func(ctx context.Context, in onceward.CommitInput) (onceward.CommitResult, error) {
		again := begunBefore(ctx)
		if err := leftToNewer(in); err != nil {
			if again { // the worker before may have sent it, and this one cannot look
				err = temporal.NewNonRetryableApplicationError(err.Error(), onceward.ErrorCommitUnclear, nil)
			}
			return onceward.CommitResult{}, err
		}
		ctx, cancel := context.WithDeadline(onceward.WithCaller(ctx, in.Action.Caller), in.Action.NotAfter)
		defer cancel()
		stop := beat(ctx, activity.GetInfo(ctx).HeartbeatTimeout, func() any { return in.Action.ID })
		defer stop()

		found, err := tool.Find(ctx, in.Action, in.Args)
		reset := wasReset(ctx, in)
		switch {
		case err != nil && reset != "":
			return onceward.CommitResult{NotSent: onceward.NotSentReset, Detail: clip(err.Error())}, nil
		case err != nil && !again:
			return onceward.CommitResult{NotSent: onceward.NotSentReadFailed, Detail: clip(err.Error())}, nil
		case err == nil && found.Status != onceward.StatusAbsent && !(found.Status == onceward.StatusConflict && (again || reset != "")):
			// A conflict asks a person, who must not be overtaken: where an earlier
			// commit may be on its way the action reads until it cannot be.
			return onceward.CommitResult{Receipt: found, VerifiedBy: onceward.VerifiedByRead, Sent: again && reset == ""}, nil
		case reset != "":
			return onceward.CommitResult{NotSent: onceward.NotSentReset, Detail: reset}, nil
		case again:
			return onceward.CommitResult{}, temporal.NewNonRetryableApplicationError(
				"a commit that is made once was begun before, and may have been sent", onceward.ErrorCommitUnclear, nil)
		}
		if need := unapproved(tool, in); need.Needed() {
			return onceward.CommitResult{NotSent: onceward.NotSentUnapproved, People: need.People, Detail: fmt.Sprintf(
				"a person has to approve it, and nobody was asked: %s", need.Why)}, nil
		}
		if reason, detail := guard(ctx, in); reason != "" {
			return onceward.CommitResult{NotSent: reason, Detail: detail}, nil
		}
		receipt, err := tool.Commit(ctx, in.Action, in.Args)
		if err == nil && receipt.Status == onceward.StatusUnknown {
			err = errors.New(receipt.Reason)
		}
		if err != nil {
			return onceward.CommitResult{}, temporal.NewNonRetryableApplicationError(clip(err.Error()), onceward.ErrorCommitUnclear, nil, lasting(err))
		}
		result := onceward.CommitResult{Receipt: receipt, VerifiedBy: onceward.VerifiedByResponse, Sent: true}
		if in.VerifyByRead && receipt.Status == onceward.StatusCommitted {
			if found, err := tool.Find(ctx, in.Action, in.Args); err == nil && found.Status == onceward.StatusCommitted {
				result.Receipt, result.VerifiedBy = found, onceward.VerifiedByRead
			}
		}
		return result, nil
	}
}

// unapproved is the guard's second look: who has to approve a commit for which nobody
// is on record. An old worker, or somebody who started the action by hand, has asked
// nobody.
func unapproved(tool Tool, in onceward.CommitInput) *onceward.Approval {
	need := in.Approval
	if need == nil && tool.Approval != nil {
		need = tool.Approval(in.Action.Caller, in.Args)
	}
	if need.Needed() && len(in.ApprovedBy) >= need.People {
		return nil
	}
	return need
}

// leftToNewer refuses what an action of a newer release has scheduled, in the way in
// which a worker without the tool does: carried out without what this one cannot
// read, it might be another effect, and a failed read would ask a person for nothing.
func leftToNewer(in onceward.CommitInput) error {
	if in.Version <= onceward.ManifestVersion {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("the action has version %d, and this worker reads up to %d", in.Version, onceward.ManifestVersion), onceward.ErrorNotRegistered, nil)
}

// wasReset says that the Action was reset, or that a reset re-dispatched this very
// activity. It is empty otherwise.
func wasReset(ctx context.Context, in onceward.CommitInput) string {
	own := activity.GetInfo(ctx).WorkflowExecution.RunID
	if in.RunID == "" || in.RunID == own && in.OriginalRunID == own { // reads that an earlier build scheduled name none
		return ""
	}
	return fmt.Sprintf("scheduled by run %s of original run %s, carried out for run %s", in.RunID, in.OriginalRunID, own)
}

// begunBefore reports that a worker has had this very activity before, although
// it is scheduled to be carried out once: somebody has changed its options. The
// count begins again when somebody resets the activity; what it told by heartbeat
// stays, unless they throw that away as well.
func begunBefore(ctx context.Context) bool {
	return activity.GetInfo(ctx).Attempt > 1 || activity.HasHeartbeatDetails(ctx)
}

// guard is the last thing before the user's commit. It refuses when the lease has
// ended (the SDK counts its own timeouts from when the worker starts), and when
// the worker is stopping.
func guard(ctx context.Context, in onceward.CommitInput) (onceward.NotSentReason, string) {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return onceward.NotSentStopping, "the worker is stopping"
	default:
	}
	if now := time.Now(); !now.Before(in.Action.NotAfter) || ctx.Err() != nil {
		return onceward.NotSentLease, fmt.Sprintf("the lease ended at %s", in.Action.NotAfter.Format(time.RFC3339Nano))
	}
	return "", ""
}

// FindFunc returns the reconciliation activity of a write tool. An error means
// that the read failed and says nothing about the effect.
func FindFunc(tool Tool) func(context.Context, onceward.CommitInput) (onceward.CommitResult, error) {
	return func(ctx context.Context, in onceward.CommitInput) (onceward.CommitResult, error) {
		if err := leftToNewer(in); err != nil {
			return onceward.CommitResult{}, err
		}
		stop := beat(ctx, activity.GetInfo(ctx).HeartbeatTimeout, func() any { return in.Action.ID })
		defer stop()
		found, err := tool.Find(onceward.WithCaller(ctx, in.Action.Caller), in.Action, in.Args)
		if reset := wasReset(ctx, in); reset != "" {
			// The Action has to hear of it also from a read that failed.
			if err != nil {
				return onceward.CommitResult{NotSent: onceward.NotSentReset, Detail: clip(err.Error())}, nil
			}
			return onceward.CommitResult{Receipt: found, VerifiedBy: onceward.VerifiedByRead, NotSent: onceward.NotSentReset, Detail: reset}, nil
		}
		if err != nil {
			return onceward.CommitResult{}, temporal.NewNonRetryableApplicationError(clip(err.Error()), "read_failed", nil)
		}
		return onceward.CommitResult{Receipt: found, VerifiedBy: onceward.VerifiedByRead}, nil
	}
}

// clip bounds the text of a tool's error: error details over 4 KB are lost.
func clip(s string) string { return onceward.Cut(s, onceward.MaxReason) }
