package classify

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

func TestZZ(t *testing.T) {
	p := os.Getenv("ZZ")
	if p == "" {
		t.Skip()
	}
	f, _ := os.Open(p)
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<22)
	for sc.Scan() {
		var l labelled
		json.Unmarshal(sc.Bytes(), &l)
		in := l.input()
		r := Classify(in)
		b := l.Body
		if len(b) > 330 {
			b = b[:330]
		}
		fmt.Printf("%s|%d| %s\n   => %s %s fb=%v %s\n", l.ID, in.Status, b, r.Class, r.StateEffect, r.FallbackEligible, r.RetryAfter)
	}
}
