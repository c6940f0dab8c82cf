package onceward

import "unicode/utf8"

// What the JSON of a value takes beside its texts: keys, quotes, numbers and a
// time. They are upper bounds, which a test holds against the encoder.
const (
	itemFrame     = 40
	keyFrame      = 16 // of a text that is left out where it is empty
	receiptFrame  = 450
	reversalFrame = 100
	approverFrame = 100
	failureFrame  = 600
	resultFrame   = 500
	attemptFrame  = 900 // route and settlement included
	droppedFrame  = 150
)

// Encoded is an upper bound of what the item takes in a payload, in bytes, as the
// JSON converter writes it. An item is counted by this everywhere: its Raw alone
// says little of a small one, whose index and digest are longer than itself.
func (i Item) Encoded() int {
	n := itemFrame + len(i.Raw) + quoted(i.Type) + quoted(i.Digest)
	for _, s := range []string{i.ID, i.CallID, i.Boundary, i.MintedBy, i.MintedIn} {
		if s != "" {
			n += keyFrame + quoted(s)
		}
	}
	return n
}

// Encoded is an upper bound of what the receipt takes in a payload, in bytes.
func (r ActionReceipt) Encoded() int {
	n := receiptFrame
	for _, s := range []string{string(r.ActionID), r.Agent, r.Run, r.RunID, r.Tool, r.Digest, r.Tenant, r.DeniedBy, string(r.Status), r.Ref, r.Reason, string(r.VerifiedBy), r.ResolvedBy, r.Note} {
		n += quoted(s)
	}
	for _, a := range r.ApprovedBy {
		n += approverFrame + quoted(a.By) + quoted(a.Note)
	}
	for _, s := range r.Refused {
		n += quoted(s) + 3
	}
	if r.Reversal != nil {
		n += reversalFrame + quoted(r.Reversal.By) + quoted(r.Reversal.Reason)
	}
	return n
}

// Encoded is an upper bound of what the result takes in a payload, in bytes.
func (r Result) Encoded() int {
	n := resultFrame
	for _, s := range []string{string(r.Outcome), r.Text, r.Reason, r.CompletedBy, r.Note} {
		n += quoted(s)
	}
	for _, s := range r.Refused {
		n += quoted(s) + 3
	}
	if r.Failure != nil {
		n += r.Failure.encoded()
	}
	for _, receipt := range r.Actions {
		n += receipt.Encoded()
	}
	return n
}

// Encoded is an upper bound of what the record takes in a payload, in bytes.
func (a AttemptRecord) Encoded() int {
	n := attemptFrame + quoted(a.RunID) + quoted(string(a.Repair))
	if r := a.Route; r != nil {
		for _, s := range []string{r.Resource, r.Account, r.Model, r.Deployment, r.Boundary, r.Reason, string(r.Repair)} {
			n += quoted(s)
		}
	}
	for _, d := range a.Dropped {
		n += droppedFrame + quoted(d.Resource) + quoted(d.Model) + quoted(d.Step) + quoted(d.Reason)
		for _, c := range d.Causes {
			n += quoted(string(c)) + 3
		}
	}
	if a.Failure != nil {
		n += a.Failure.encoded()
	}
	if s := a.Settled; s != nil {
		n += quoted(string(s.CostBasis)) + quoted(s.ProviderRequestID) + quoted(s.ResponseModel)
		for _, notice := range s.Notices {
			n += quoted(notice) + 3
		}
	}
	return n
}

func (f *Failure) encoded() int {
	n := failureFrame
	for _, s := range []string{
		string(f.Class), string(f.Phase), f.ProviderRequestID, string(f.ModelResult), string(f.Scope), string(f.StateEffect), string(f.Repair), f.Resource, f.Deployment, f.Message,
	} {
		n += quoted(s)
	}
	return n
}

// EncodedText is what a text takes in a payload as a JSON string, in bytes.
func EncodedText(s string) int { return len(`""`) + quoted(s) }

// quoted is what a text takes inside the quotes of a JSON string as Go's encoder
// writes it.
func quoted(s string) int {
	n := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t':
				n += 2
			case c < ' ' || c == '<' || c == '>' || c == '&':
				n += 6
			default:
				n++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
			n += 6
		} else {
			n += size
		}
		i += size
	}
	return n
}
