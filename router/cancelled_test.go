package router

import (
	"errors"
	"net/http"
	"testing"

	"github.com/onceward/onceward"
)

// A response that the resource cancelled is the resource's failure: nobody here
// cancelled anything, and another may serve.
func TestResponseThatTheResourceCancelledRotates(t *testing.T) {
	for _, status := range []string{"cancelled", "canceled"} {
		whole := `{"id":"resp_1","object":"response","status":"` + status + `","output":[]}`
		for label, body := range map[string]string{
			"application/json":  whole,
			"text/event-stream": "data: {\"type\":\"response." + status + "\",\"response\":" + whole + "}\n\n",
		} {
			s := serve(t, reply(http.StatusOK, label, body))
			r := pool(t, Config{}, resource("a", s.URL+"/v1"))
			_, err := r.Call(t.Context(), routed(t, r, "a"))
			var f *onceward.Failure
			if !errors.As(err, &f) || f.Class != onceward.ClassServerError || !f.FallbackEligible {
				t.Errorf("%s %s: error %v, want a server error that lets another resource serve", label, status, err)
			}
		}
	}
}
