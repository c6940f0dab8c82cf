package onceward

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxOperatorText bounds the free texts of operators in bytes.
const MaxOperatorText = 64 << 10

// Resolve is an operator's decision about an action whose outcome nobody could
// read. Version is the version of the state it decides, as onceward.receipt and
// onceward show tell it: a reset applies old decisions again, and this one must
// not decide anything else.
type Resolve struct {
	Status  ReceiptStatus `json:"status"` // committed or rejected
	Ref     string        `json:"ref"`    // the product's own name for the effect, required for committed
	By      string        `json:"by"`
	Note    string        `json:"note,omitempty"`
	Version int           `json:"version"`
}

// Validate refuses a decision that is not complete.
func (r Resolve) Validate() error {
	if err := (Receipt{Status: r.Status, Ref: r.Ref, Reason: r.Note}).Validate(StatusCommitted, StatusRejected); err != nil {
		return fmt.Errorf("resolve: %v", err) // wrapped, the Temporal command says it twice
	}
	return operatorText("resolve", r.By, r.Note)
}

// Complete ends a run that waits for a person.
type Complete struct {
	By   string `json:"by"`
	Text string `json:"text"`
	Note string `json:"note,omitempty"` // for the record; the caller reads Text
}

// Validate refuses a completion that is not complete.
func (c Complete) Validate() error {
	if c.Text == "" {
		return errors.New("complete: text is empty")
	}
	if err := operatorText("complete", c.By, c.Note); err != nil {
		return err
	}
	return operatorText("complete", c.By, c.Text)
}

// Validate refuses a report that does not say who reports what.
func (r Reversal) Validate() error {
	switch {
	case strings.TrimSpace(r.Reason) == "":
		return errors.New("reverse: reason is empty: say what the product reports")
	case len(r.Reason) > MaxReason:
		return fmt.Errorf("reverse: reason has %d bytes, at most %d", len(r.Reason), MaxReason)
	}
	return operatorText("reverse", r.By, r.Reason)
}

func operatorText(what, by, text string) error {
	switch {
	case strings.TrimSpace(by) == "":
		return fmt.Errorf("%s: by is empty: say who decides", what)
	case strings.ContainsFunc(by, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%s: by holds a character that cannot be printed on one line", what)
	case len(by) > MaxRef:
		return fmt.Errorf("%s: by has %d bytes, at most %d", what, len(by), MaxRef)
	case len(text) > MaxOperatorText:
		return fmt.Errorf("%s: text has %d bytes, at most %d", what, len(text), MaxOperatorText)
	case !utf8.ValidString(by) || !utf8.ValidString(text):
		return fmt.Errorf("%s: text is not UTF-8", what)
	}
	return nil
}
