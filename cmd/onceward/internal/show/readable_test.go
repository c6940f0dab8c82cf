package show

import (
	"errors"
	"testing"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/onceward/onceward"
)

// seal makes what was written last in a history unreadable without a codec.
func (h *history) seal() *history {
	sealed := 0
	payloads := func(p *commonpb.Payloads) {
		for _, one := range p.GetPayloads() {
			one.Metadata = map[string][]byte{"encoding": []byte("binary/sealed")}
			sealed++
		}
	}
	for i := len(h.list) - 1; i >= 0 && sealed == 0; i-- {
		e := h.list[i]
		payloads(e.GetWorkflowExecutionStartedEventAttributes().GetInput())
		payloads(e.GetActivityTaskScheduledEventAttributes().GetInput())
		payloads(e.GetWorkflowExecutionSignaledEventAttributes().GetInput())
		for _, p := range e.GetMarkerRecordedEventAttributes().GetDetails() {
			payloads(p)
		}
	}
	return h
}

// What the workers wrote last decides: in clear to workers with a codec is refused,
// and what others have sent, or a user's own converter, refuses nothing.
func TestWhatIsInClearIsSentToWorkersInClearOnly(t *testing.T) {
	t.Parallel()
	begun := func() *history { return newHistory(t, "A", onceward.Ask("order-1842")) }
	local := func(h *history, kind string) *history { h.local(kind, "x"); return h }
	scheduled := func(h *history, kind string) *history { h.schedule(kind, "x"); return h }
	signalled := func(h *history) *history {
		h.signal("x")
		h.list[len(h.list)-1].GetWorkflowExecutionSignaledEventAttributes().Input = h.payloads("y")
		return h
	}
	for name, c := range map[string]struct {
		h       *history
		refused bool
	}{
		"nothing but its input, in clear":                    {begun(), false},
		"nothing but its input, sealed":                      {begun().seal(), true},
		"workers in clear":                                   {scheduled(opened(t), onceward.ActivityCallModel), false},
		"a starter in clear, workers with a codec":           {scheduled(begun(), onceward.ActivityCallModel).seal(), true},
		"the same before the first request":                  {local(begun(), onceward.ActivityOpen).seal(), true},
		"a codec that came with a release":                   {scheduled(opened(t), onceward.ActivityCallModel).seal(), true},
		"a codec that went with a release":                   {scheduled(local(begun(), onceward.ActivityOpen).seal(), onceward.ActivityCallModel), false},
		"a signal under a key that nobody has":               {signalled(opened(t)).seal(), false},
		"a tool of the user's with a converter of its own":   {scheduled(opened(t), "refunds.get_order.read").seal(), false},
		"a local activity of the user's with another of its": {local(opened(t), "mine").seal(), false},
	} {
		ns := stored{workflows: map[string][]*history{"w": {c.h}}, open: map[string]bool{"w": true}}
		if err := Readable(t.Context(), ns, "w"); errors.Is(err, ErrNoCodec) != c.refused || err != nil && !c.refused {
			t.Errorf("%s: %v, want refused %t", name, err, c.refused)
		}
	}
	if err := Readable(t.Context(), stored{}, "w"); !errors.Is(err, ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}
