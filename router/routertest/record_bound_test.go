package routertest

import (
	"fmt"
	"testing"
)

func TestRecorderForgetsTheOldestFirst(t *testing.T) {
	t.Parallel()
	c := newRecorder(4, 10)
	for range 6 {
		c.add(Request{Resource: "A", Raw: []byte(`"123"`)}) // 5 bytes each: two bodies fit
	}
	got := c.list(func(*Request) bool { return true })
	if len(got) != 4 || got[0].Seq != 3 || got[3].Seq != 6 || got[3].Nth != 6 {
		t.Fatalf("kept %+v", got)
	}
	for i, r := range got {
		if has := r.Raw != nil; has != (i >= 2) {
			t.Errorf("record %d has its body: %v", r.Seq, has)
		}
	}
	if c.rawBytes != 10 {
		t.Errorf("counts %d bytes", c.rawBytes)
	}
}

func TestStateForgetsTheOldestResponse(t *testing.T) {
	t.Parallel()
	st := newState()
	for i := range maxStored + 1 {
		st.put(fmt.Sprint(i), []byte("{}"), nil, 0)
	}
	if len(st.responses) != maxStored || len(st.order) != maxStored || st.bytes != 2*maxStored {
		t.Errorf("%d responses, %d bytes", len(st.responses), st.bytes)
	}
}
