package quiz

import (
	"context"
	"strings"
	"testing"
)

func TestAcceptWantsAQuestionWithItsAnswer(t *testing.T) {
	for text, want := range map[string]string{
		`{"topic":"rivers","questions":[{"question":"Longest?","answer":"Nile"}]}`: "",
		`{"topic":"rivers","questions":[]}`:                                        "no questions",
		`{"topic":"rivers"}`:                                                       "no questions",
		`{"topic":"rivers","questions":[{"question":"Longest?","answer":""}]}`:     "question 1",
		`Sure! Here is a quiz.`:                                                    "read quiz",
	} {
		err := accept(context.Background(), text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
