package local

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/quiz"
	"github.com/onceward/onceward/samples/refund"
)

func TestSampleModelPlaysEachAgentByItsInstructions(t *testing.T) {
	t.Parallel()
	pool := routertest.Start(t, routertest.Config{Model: SampleModel(), Resources: []routertest.Resource{{Name: "a"}}})
	for instructions, want := range map[string]string{
		quiz.Quizzes.Instructions:   "Question 1 about order-7",
		refund.Refunds.Instructions: "I cannot look up order-7 here",
	} {
		body := fmt.Sprintf(`{"model":"m","instructions":%q,"input":"Topic: order-7"}`, instructions)
		res, err := http.Post(pool.Resources()[0].URL()+"responses", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%q is answered by %s, %v, want %q", instructions, raw, err, want)
		}
	}
}
