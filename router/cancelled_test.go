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
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"resp_1","object":"response","status":"cancelled","output":[]}`))
	})
	r := pool(t, Config{}, resource("a", s.URL+"/v1"))
	_, err := r.Call(t.Context(), routed(t, r, "a"))
	var f *onceward.Failure
	if !errors.As(err, &f) || f.Class != onceward.ClassServerError || !f.FallbackEligible {
		t.Errorf("error %v, want a server error that lets another resource serve", err)
	}
}
