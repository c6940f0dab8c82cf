package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// The answers are those that products document: where a name stands in the row, it
// is theirs.
func TestCommitAnswer(t *testing.T) {
	header := func(name, value string) http.Header { return http.Header{name: {value}} }
	const unclear = onceward.ReceiptStatus("")
	rows := map[string]struct {
		answer CommitAnswer
		want   onceward.ReceiptStatus
	}{
		"E36 200 with a ref is committed":                      {CommitAnswer{Status: 200, Ref: "r"}, onceward.StatusCommitted},
		"E36 204 with the caller's own ref is committed":       {CommitAnswer{Status: 204, Ref: "r"}, onceward.StatusCommitted},
		"E36 201 without a ref is unclear":                     {CommitAnswer{Status: 201}, unclear},
		"E36 200 with an error instead of a ref is unclear":    {CommitAnswer{Status: 200, Code: "DECLINED"}, unclear},
		"E36 202 is accepted":                                  {CommitAnswer{Status: 202, Ref: "r"}, onceward.StatusAccepted},
		"E36 a success that says pending is accepted":          {CommitAnswer{Status: 201, Ref: "r", Pending: true}, onceward.StatusAccepted},
		"E36 a success that is replayed is committed":          {CommitAnswer{Status: 200, Ref: "r", Replayed: true}, onceward.StatusCommitted},
		"E36 207 may be half a failure":                        {CommitAnswer{Status: 207, Ref: "r"}, unclear},
		"E36 a redirect is unclear":                            {CommitAnswer{Status: 307, Reason: "elsewhere"}, unclear},
		"E36 no answer is unclear":                             {CommitAnswer{}, unclear},
		"E36 a 4xx with a reason is a refusal":                 {CommitAnswer{Status: 422, Reason: "no such order"}, onceward.StatusRejected},
		"E36 a 4xx with a code alone is a refusal":             {CommitAnswer{Status: 402, Code: "card_declined"}, onceward.StatusRejected},
		"E36 a 4xx that says nothing is a proxy's":             {CommitAnswer{Status: 404}, unclear},
		"E36 a 4xx of white space is a proxy's":                {CommitAnswer{Status: 400, Reason: " \n"}, unclear},
		"E36 Stripe: other parameters":                         {CommitAnswer{Status: 400, Code: "idempotency_error", Reason: "Keys for idempotent requests can only be used with the same parameters they were first used with."}, onceward.StatusConflict},
		"E36 Stripe: the key is in use":                        {CommitAnswer{Status: 409, Code: "idempotency_key_in_use"}, unclear},
		"E36 the same code as a 400 is no refusal":             {CommitAnswer{Status: 400, Code: "idempotency_key_in_use"}, unclear},
		"E36 the same code for another body is a conflict":     {CommitAnswer{Status: 409, Code: "idempotency_key_in_use", Reason: "Same key used with a different body."}, onceward.StatusConflict},
		"E36 Stripe should retry":                              {CommitAnswer{Status: 400, Reason: "lock", Header: header("Stripe-Should-Retry", "true")}, unclear},
		"E36 Square: the key was reused":                       {CommitAnswer{Status: 400, Code: "IDEMPOTENCY_KEY_REUSED"}, onceward.StatusConflict},
		"E36 Adyen: processed or in progress":                  {CommitAnswer{Status: 422, Code: "704", Reason: "request already processed or in progress"}, unclear},
		"E36 Adyen: a transient error":                         {CommitAnswer{Status: 422, Reason: "try again", Header: header("Transient-Error", "true")}, unclear},
		"E36 PayPal: the request id was used":                  {CommitAnswer{Status: 422, Code: "DUPLICATE_REQUEST_ID"}, unclear},
		"E36 PayPal: the request before is in progress":        {CommitAnswer{Status: 422, Code: "PREVIOUS_REQUEST_IN_PROGRESS"}, unclear},
		"E36 AWS: other parameters":                            {CommitAnswer{Status: 400, Code: "IdempotentParameterMismatch"}, onceward.StatusConflict},
		"E36 Primer: the key exists":                           {CommitAnswer{Status: 400, Code: "TransactionRequestIdempotencyKeyAlreadyExists"}, unclear},
		"E36 IETF draft: already used":                         {CommitAnswer{Status: 422, Reason: "This operation is idempotent and it requires correct usage of Idempotency Key. Idempotency Key MUST not be reused across different payloads of this operation."}, onceward.StatusConflict},
		"E36 IETF draft: a request is outstanding":             {CommitAnswer{Status: 409, Reason: "A request with the same Idempotency-Key for the same operation is being processed or is outstanding."}, unclear},
		"E36 a 409 about the key's content is a conflict":      {CommitAnswer{Status: 409, Code: "idempotency.key_reuse_mismatch"}, onceward.StatusConflict},
		"E36 a conflict of idempotency without more words":     {CommitAnswer{Status: 409, Code: "idempotency_conflict"}, onceward.StatusConflict},
		"E36 a key that the product does not take":             {CommitAnswer{Status: 400, Reason: "Idempotency-Key is too long"}, onceward.StatusConflict},
		"E36 a business word that sounds like it is a refusal": {CommitAnswer{Status: 422, Reason: "the order was already refunded"}, onceward.StatusRejected},
		"E36 a stored 500":                                     {CommitAnswer{Status: 500, Header: header("Idempotent-Replayed", "true")}, onceward.StatusConflict},
		"E36 a stored 409":                                     {CommitAnswer{Status: 409, Header: header("Idempotency-Replayed", "TRUE")}, onceward.StatusConflict},
		"E36 a stored refusal":                                 {CommitAnswer{Status: 402, Reason: "declined", Replayed: true}, onceward.StatusConflict},
		"E36 a stored 503 by another header":                   {CommitAnswer{Status: 503, Header: header("Idempotent-Replay", "true")}, onceward.StatusConflict},
		"E36 a stored 500 in numbers":                          {CommitAnswer{Status: 500, Header: header("X-Idempotency-Replay", "1")}, onceward.StatusConflict},
		"E36 a fresh 500 that says it is no replay":            {CommitAnswer{Status: 500, Header: header("Idempotent-Replayed", "false")}, unclear},
		"E36 a header that only echoes the key says no replay": {CommitAnswer{Status: 500, Header: header("Idempotency-Key", "true")}, unclear},
		"E36 a success that names a failure is unclear":        {CommitAnswer{Status: 200, Ref: "r", Code: "card_declined"}, unclear},
		"E36 AWS: throttled":                                   {CommitAnswer{Status: 400, Code: "ThrottlingException", Reason: "Rate exceeded"}, unclear},
		"E36 AWS: the body was not read in time":               {CommitAnswer{Status: 400, Code: "RequestTimeout", Reason: "not read from"}, unclear},
		"E36 DynamoDB: the token is at work":                   {CommitAnswer{Status: 400, Code: "TransactionInProgressException", Reason: "the given request token is already in progress"}, unclear},
		"E36 CloudFormation: the token was used":               {CommitAnswer{Status: 400, Code: "TokenAlreadyExistsException", Reason: "A client request token already exists."}, unclear},
		"E36 Razorpay: another operation is at work":           {CommitAnswer{Status: 400, Code: "BAD_REQUEST_ERROR", Reason: "another payment operation is in progress"}, unclear},
		"E36 Braintree: a duplicate":                           {CommitAnswer{Status: 422, Reason: "Gateway Rejected: duplicate"}, unclear},
		"E36 a request id with other content":                  {CommitAnswer{Status: 400, Reason: "this request ID was used with a different payload"}, onceward.StatusConflict},
		"E36 a refusal that only quotes a request id":          {CommitAnswer{Status: 400, Reason: "no such order (request id 7)"}, onceward.StatusRejected},
		"E36 GitHub: a 403 that says when to come again":       {CommitAnswer{Status: 403, Reason: "secondary rate limit", Header: header("Retry-After", "60")}, unclear},
		"E36 the same of a client that keeps small letters":    {CommitAnswer{Status: 403, Reason: "slow", Header: header("retry-after", "60")}, unclear},
		"E36 a refusal in Latin-1 is one":                      {CommitAnswer{Status: 422, Reason: "zu sp\xe4t"}, onceward.StatusRejected},
		"E36 a stored 500 in small letters":                    {CommitAnswer{Status: 500, Header: header("idempotent-replayed", "true")}, onceward.StatusConflict},
	}
	for _, status := range []int{401, 407, 408, 409, 421, 423, 425, 429, 420, 449, 460, 499, 500, 501, 502, 503, 504, 520, 599} {
		rows[fmt.Sprintf("E36 %d is unclear even with a reason", status)] = struct {
			answer CommitAnswer
			want   onceward.ReceiptStatus
		}{CommitAnswer{Status: status, Code: "no", Reason: "no"}, unclear}
	}
	for name, c := range rows {
		got, err := c.answer.Receipt()
		if got.Status != c.want || (err != nil) != (c.want == unclear) {
			t.Errorf("%s: got %+v, %v, want %q", name, got, err, c.want)
		}
		if err == nil {
			if invalid := got.Validate(onceward.StatusCommitted, onceward.StatusAccepted, onceward.StatusRejected, onceward.StatusConflict); invalid != nil {
				t.Errorf("%s: %v", name, invalid)
			}
		} else if want := fmt.Sprintf("status %d", c.answer.Status); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %q does not say %s", name, err, want)
		}
	}
}

func TestOnlyAnAnswerThatMayBeStoredIsALastingFailure(t *testing.T) {
	answered := func(status int, reason string) error {
		_, err := CommitAnswer{Status: status, Reason: reason}.Receipt()
		return fmt.Errorf("post refund: %w", err)
	}
	_, throttled := CommitAnswer{Status: 400, Code: "ThrottlingException"}.Receipt()
	for name, c := range map[string]struct {
		one, two error
		same     bool
	}{
		"E36 the same 500 in other words":               {answered(500, "request 1 failed"), answered(500, "request 2 failed"), true},
		"E36 two statuses":                              {answered(500, ""), answered(501, ""), false},
		"E36 a busy product":                            {answered(503, ""), answered(503, ""), false},
		"E36 a product that asks to slow down":          {answered(429, "slow"), answered(429, "slow"), false},
		"E36 a throttled 400":                           {throttled, throttled, false},
		"E36 the same words of a client without status": {errors.New("internal server error"), errors.New("internal server error"), true},
		"E36 no connection":                             {&net.OpError{Op: "dial", Err: errors.New("refused")}, &net.OpError{Op: "dial", Err: errors.New("refused")}, false},
		"E36 a broken connection":                       {&url.Error{Op: "Post", Err: io.EOF}, &url.Error{Op: "Post", Err: io.EOF}, false},
		"E36 half an answer":                            {io.ErrUnexpectedEOF, io.ErrUnexpectedEOF, false},
		"E36 the lease ended":                           {context.DeadlineExceeded, context.DeadlineExceeded, false},
	} {
		one, two := lasting(c.one), lasting(c.two)
		if (one != "" && one == two) != c.same {
			t.Errorf("%s: %q and %q, want the same failure: %v", name, one, two, c.same)
		}
	}
	if long := lasting(errors.New(strings.Repeat("x", 5000))); len(long) > maxFailureName {
		t.Errorf("a failure is named by %d bytes", len(long))
	}
}
