package onceward

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// ToolKind separates what may be repeated from what may not.
type ToolKind string

// The kinds of tools.
const (
	KindRead  ToolKind = "read"
	KindWrite ToolKind = "write"
)

// Spec declares a tool to the model and, for a write, what is known of the
// product behind it. The zero value of every field but Name is a safe default.
// A Spec is a value.
type Spec struct {
	Name        string // [A-Za-z0-9_-]{1,64}, as the model calls it
	Description string

	// Timeout bounds one call of a read tool; zero is 30 s. A write is bounded
	// by its lease.
	Timeout time.Duration
	// MaxAttempts bounds the attempts of a read tool; zero is 3.
	MaxAttempts int
	// MaxOutput bounds what one call of a read tool may return, in bytes as the
	// transcript holds it; zero is 128 KB, and at most 1 MB. A call that returns
	// more is answered output_too_large with both numbers. All reads of a response
	// share Agent.Limits.OutputBytes.
	MaxOutput int

	// Settle declares that "not found" is authoritative this long after the
	// lease of the commit ended: it must cover the product's longest processing
	// time and the lag of its read. Zero: a read that finds nothing after an
	// unclear commit proves nothing, and the action waits for an operator.
	Settle time.Duration
	// Keyed declares that the product deduplicates by Action.Key, so that a
	// commit may be sent again with the same key when the read finds nothing.
	Keyed bool
	// KeyTTL is how long the product remembers a key; zero is 24 h. An action of a
	// Keyed tool whose first commit is older waits for an operator instead of being
	// sent again, also where Settle is declared.
	KeyTTL time.Duration
	// ReadHorizon is how far back the reconciliation read can see; zero is 30
	// days. Past it "not found" proves nothing.
	ReadHorizon time.Duration
	// Lease bounds a commit, from scheduling to its end; zero is the
	// configuration's actions.lease.
	Lease time.Duration
	// VerifyByRead asks for a read after a commit that the product answered
	// with success; the receipt then says verified_by read.
	VerifyByRead bool
	// Approve says which calls a person has to approve before anything is sent.
	Approve ApprovalPolicy
	// Once withdraws the tool from the model after its first committed or
	// submitted receipt in a run.
	Once bool
}

// Tool is one tool of an agent, made by Read or Write. The zero value is no
// tool and is refused by the worker. A Tool is immutable and safe for
// concurrent use.
type Tool struct {
	Spec     Spec
	Kind     ToolKind
	Receiver reflect.Type // the type whose methods implement it
	Input    reflect.Type // a struct; the worker makes the JSON schema from it
	bind     func(receiver any) (Bound, error)
}

// Bound is a tool bound to the instance that carries it out. Its functions are
// as safe for concurrent use as that instance's methods.
type Bound struct {
	Tool Tool
	// Prepare binds the model's arguments once: what it returns is the one value
	// that digest, ledger and tool all see.
	Prepare func(caller Caller, raw json.RawMessage) (Prepared, error)
	// Read carries out a read tool with prepared arguments.
	Read func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)
	// Approval is what Spec.Approve says of prepared arguments: the guard's second look.
	// It is nil where there is no policy.
	Approval func(caller Caller, args json.RawMessage) *Approval
	// Commit and Find carry out a write tool with prepared arguments.
	Commit, Find func(ctx context.Context, action Action, args json.RawMessage) (Receipt, error)
}

// Prepared is a tool call with its arguments bound. ActionID and Digest are
// empty for a read. Bare is the digest without the caller's tenant, and empty where
// there is none.
type Prepared struct {
	Args         json.RawMessage
	ActionID     ActionID
	Digest, Bare string
	// Approval is what Spec.Approve says of the call; nil where there is no policy.
	Approval *Approval
}

// Read declares a tool without side effects, implemented by the method
// expression fn. It may be called again after any failure. I must be a struct.
func Read[R, I, O any](spec Spec, fn func(R, context.Context, I) (O, error)) Tool {
	tool := Tool{Spec: spec, Kind: KindRead, Receiver: reflect.TypeFor[R](), Input: reflect.TypeFor[I]()}
	tool.bind = func(receiver any) (Bound, error) {
		r, err := receiverOf[R](spec.Name, receiver)
		if err != nil || fn == nil {
			return Bound{}, bindError(spec.Name, err)
		}
		return Bound{
			Tool: tool,
			Prepare: func(_ Caller, raw json.RawMessage) (Prepared, error) {
				_, args, err := prepare[I](raw)
				return Prepared{Args: args}, err
			},
			Read: func(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
				in, _, err := prepare[I](args)
				if err != nil {
					return nil, err
				}
				out, err := fn(r, ctx, in)
				if err != nil {
					return nil, err
				}
				encoded, err := json.Marshal(out)
				if err != nil {
					return nil, fmt.Errorf("encode result of %s: %w", spec.Name, err)
				}
				return encoded, nil
			},
		}, nil
	}
	return tool
}

// Write declares a tool with a side effect. id names the effect from business
// arguments; commit makes it; find is the reconciliation read, which looks for
// the effect and never makes it. There is no write without an id and a find: it
// does not compile.
//
// commit reports a business refusal as Rejected(reason) with a nil error. Any
// error it returns means that nobody knows whether the effect exists: it is
// reconciled by find and never sent again blindly. Conflict(reason) is an answer
// that only a person can take further. activities.CommitAnswer tells them apart by
// the status of an HTTP answer. commit must not let its HTTP
// client send twice: net/http re-sends a POST that carries an Idempotency-Key
// header when a reused connection breaks; activities.SendOnce prevents it.
//
// find returns Committed, Rejected, Accepted, Conflict or Absent; an error means that the
// read itself failed. I must be a struct; fields that do not make it another
// effect carry the tag `onceward:"incidental"`.
//
// Where several tenants share names, such as order numbers, use WriteFor.
func Write[R, I any](
	spec Spec,
	id func(I) ActionID,
	commit func(R, context.Context, Action, I) (Receipt, error),
	find func(R, context.Context, Action, I) (Receipt, error),
) Tool {
	if id == nil {
		return WriteFor(spec, nil, commit, find)
	}
	return WriteFor(spec, func(_ Caller, in I) ActionID { return id(in) }, commit, find)
}

// WriteFor is Write whose id also depends on the caller: put the tenant into the id
// where two tenants may have the same order number, and the slot where a scheduled
// run may do the same thing once a day. An id function that needs a slot returns ""
// for a zero one, and the call is refused.
//
// An id that forgets the tenant mixes nothing up: the tenant is part of what the
// effect is compared by, so that the second tenant is told action_conflict, without
// a word of the first one's.
func WriteFor[R, I any](
	spec Spec,
	id func(Caller, I) ActionID,
	commit func(R, context.Context, Action, I) (Receipt, error),
	find func(R, context.Context, Action, I) (Receipt, error),
) Tool {
	tool := Tool{Spec: spec, Kind: KindWrite, Receiver: reflect.TypeFor[R](), Input: reflect.TypeFor[I]()}
	call := func(r R, fn func(R, context.Context, Action, I) (Receipt, error), allowed ...ReceiptStatus) func(context.Context, Action, json.RawMessage) (Receipt, error) {
		return func(ctx context.Context, action Action, args json.RawMessage) (Receipt, error) {
			in, _, err := prepare[I](args)
			if err != nil {
				return Receipt{}, err
			}
			receipt, err := fn(r, ctx, action, in)
			if err != nil {
				return Receipt{}, err
			}
			if err := receipt.Validate(allowed...); err != nil {
				return Receipt{}, fmt.Errorf("receipt of %s: %w", spec.Name, err)
			}
			receipt.Reason = Cut(receipt.Reason, MaxReason)
			return receipt, nil
		}
	}
	tool.bind = func(receiver any) (Bound, error) {
		r, err := receiverOf[R](spec.Name, receiver)
		if err != nil || id == nil || commit == nil || find == nil {
			return Bound{}, bindError(spec.Name, err)
		}
		if err := spec.Approve.check(tool.Input); err != nil {
			return Bound{}, fmt.Errorf("bind tool %s: %w", spec.Name, err)
		}
		var second func(Caller, json.RawMessage) *Approval
		if spec.Approve.Asks() {
			second = func(caller Caller, args json.RawMessage) *Approval {
				in, _, err := prepare[I](args)
				if err != nil { // the commit says so
					return nil
				}
				return spec.Approve.of(caller, in)
			}
		}
		return Bound{
			Tool: tool, Approval: second,
			Prepare: func(caller Caller, raw json.RawMessage) (Prepared, error) {
				in, args, err := prepare[I](raw)
				if err != nil {
					return Prepared{}, err
				}
				p := Prepared{Args: args, ActionID: id(caller, in)}
				if err := p.ActionID.Validate(); err != nil {
					return Prepared{}, fmt.Errorf("these arguments name no valid action: %w", err)
				}
				p.Digest, p.Bare, err = materialDigest(spec.Name, caller.Tenant, reflect.ValueOf(in))
				p.Approval = spec.Approve.of(caller, in)
				return p, err
			},
			Commit: call(r, commit, StatusCommitted, StatusRejected, StatusAccepted, StatusConflict, StatusUnknown),
			Find:   call(r, find, StatusCommitted, StatusRejected, StatusAccepted, StatusConflict, StatusAbsent),
		}, nil
	}
	return tool
}

// Bind ties the tool to the instance that carries it out. The instance must be
// of the type whose methods declared the tool.
func (t Tool) Bind(receiver any) (Bound, error) {
	if t.bind == nil {
		return Bound{}, fmt.Errorf("bind tool %q: it was not made by Read or Write", t.Spec.Name)
	}
	return t.bind(receiver)
}

// prepare decodes arguments and returns them again in their one bound form.
func prepare[I any](raw json.RawMessage) (I, json.RawMessage, error) {
	var in I
	v, err := bindArgs(reflect.TypeFor[I](), raw)
	if err != nil {
		return in, nil, err
	}
	in = v.Interface().(I)
	args, err := json.Marshal(in)
	if err != nil {
		return in, nil, fmt.Errorf("encode arguments: %w", err)
	}
	return in, args, nil
}

func receiverOf[R any](tool string, receiver any) (R, error) {
	r, ok := receiver.(R)
	if !ok {
		return r, fmt.Errorf("bind tool %s: it is a method of %s, not of %T", tool, reflect.TypeFor[R](), receiver)
	}
	return r, nil
}

func bindError(tool string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("bind tool %s: a function is nil", tool)
}
