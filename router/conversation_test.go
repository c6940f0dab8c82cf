package router

import (
	"testing"

	"github.com/onceward/onceward"
)

func TestConversationMayHoldAnAttemptUnlessItWasRefused(t *testing.T) {
	f := func(class onceward.Class, phase onceward.Phase, status int) *onceward.Failure {
		f := onceward.NewFailure(class, phase, "")
		f.HTTPStatus = status
		return f
	}
	for name, c := range map[string]struct {
		failure *onceward.Failure
		want    bool
	}{
		"nothing was sent":                       {onceward.NotSentFailure(onceward.ClassOverloaded, ""), false},
		"no connection was made":                 {f(onceward.ClassNetwork, onceward.PhasePrepare, 0), false},
		"the request was malformed":              {f(onceward.ClassInvalidRequest, onceward.PhaseSent, 400), false},
		"the key was refused":                    {f(onceward.ClassAuthentication, onceward.PhaseSent, 401), false},
		"the conversation was not found":         {f(onceward.ClassStaleAnchor, onceward.PhaseSent, 404), false},
		"the conversation was locked":            {f(onceward.ClassStateConflict, onceward.PhaseSent, 409), false},
		"too many requests":                      {f(onceward.ClassRateLimited, onceward.PhaseSent, 429), false},
		"it failed inside":                       {f(onceward.ClassServerError, onceward.PhaseSent, 500), true},
		"it, or a gateway, was overloaded":       {f(onceward.ClassOverloaded, onceward.PhaseSent, 503), true},
		"it was overloaded, in another status":   {f(onceward.ClassOverloaded, onceward.PhaseSent, 529), false},
		"a redirect to elsewhere":                {f(onceward.ClassEndpointMisconfigured, onceward.PhaseSent, 302), false},
		"the connection broke without an answer": {f(onceward.ClassNetwork, onceward.PhaseSent, 0), true},
		"no first event came in time":            {f(onceward.ClassTimeout, onceward.PhaseSent, 0), true},
		"the caller went":                        {f(onceward.ClassCancelled, onceward.PhaseSent, 0), true},
		"the caller's deadline passed":           {f(onceward.ClassDeadlineExceeded, onceward.PhaseStream, 200), true},
		"an empty success":                       {f(onceward.ClassEmptyOutput, onceward.PhaseSent, 200), true},
		"the stream broke":                       {f(onceward.ClassNetwork, onceward.PhaseStream, 200), true},
		"the body broke":                         {f(onceward.ClassNetwork, onceward.PhaseBody, 200), true},
		"the response failed in a stream":        {f(onceward.ClassServerError, onceward.PhaseSent, 200), true},
		"the answer was cut at a limit":          {f(onceward.ClassIncompleteOutput, onceward.PhaseSettled, 200), true},
		"the model declined":                     {f(onceward.ClassRefusal, onceward.PhaseSettled, 200), true},
		"the answer was of no use":               {f(onceward.ClassInvalidOutput, onceward.PhaseSettled, 200), true},
		"a gateway lost the resource":            {f(onceward.ClassServerError, onceward.PhaseSent, 502), true},
		"a gateway did not wait":                 {f(onceward.ClassTimeout, onceward.PhaseSent, 504), true},
		"a proxy did not wait":                   {f(onceward.ClassTimeout, onceward.PhaseSent, 524), true},
		"a gateway's timeout in a status of 500": {f(onceward.ClassTimeout, onceward.PhaseSent, 500), true},
		"a gateway's client went away":           {f(onceward.ClassUnknown, onceward.PhaseSent, 499), true},
		"the request was not complete in time":   {f(onceward.ClassTimeout, onceward.PhaseSent, 408), true},
	} {
		if got := mayHaveAppended(c.failure); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
