package classify

import (
	"testing"

	"github.com/onceward/onceward"
)

// The id came with the request: that this account may not open it says nothing
// about the account.
func TestIDThatTheAccountMayNotOpenIsNoFaultOfTheAccount(t *testing.T) {
	for _, message := range []string{
		"You do not have access to file file-1.",
		"You do not have access to conversation conv_1",
		"You don't have permission to access this file.",
		"File file-1 is not accessible to your project.",
		"The API key does not have access to conversation conv_x",
		"You are not authorized to access this conversation.",
		"You do not have permission to access the requested vector store.",
		"Not allowed to access vector store 'vs_abc123'.",
		"Access to file 'file-abc' is denied.",
		"Access denied for file file-abc.",
		"You have insufficient permissions to read this file.",
		"The file 'file-9' does not belong to your organization.",
		"You do not have access to the container with id cntr_1.",
	} {
		for _, status := range []int{400, 403, 404} {
			f := Classify(Input{Status: status, Body: errorBody(t, "", message)})
			if f.Class != onceward.ClassResourceAffinity || f.StateEffect != onceward.EffectNone || !f.FallbackEligible {
				t.Errorf("%d %s: %s %s fallback %v", status, message, f.Class, f.StateEffect, f.FallbackEligible)
			}
		}
	}
	for _, message := range []string{
		"You do not have permission to access the files API.",
		"You have insufficient permissions for this operation. Missing scopes: api.files.read",
		"You do not have access to file search.",
		"You do not have access to this organization.",
		"This API key is not authorized to use the Responses API.",
		"You don't have permission to access the response endpoint.",
		"Your project is not allowed to use containers.",
	} {
		if f := Classify(Input{Status: 403, Body: errorBody(t, "", message)}); f.StateEffect == onceward.EffectNone {
			t.Errorf("%s: %s %s, want the account's", message, f.Class, f.StateEffect)
		}
	}
}
