package redact_test

import (
	"io"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/redact"
)

// What a host can send without knowing a key costs no more than its bytes: a
// body of escapes must not hold a worker up.
func BenchmarkHostileBody(b *testing.B) {
	set := redact.NewSet(shapeless, "sk-proj-"+strings.Repeat("abcDEF12", 20))
	for _, piece := range []string{`\`, "%25", "&amp;", `\u006f`, "orchid-gateway-42-nort-", "sk-proj-", "b3JjaGlk\n"} {
		body := strings.Repeat(piece, (1<<20)/len(piece))
		b.Run(piece, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := io.Copy(io.Discard, set.Reader(io.NopCloser(strings.NewReader(body)), nil)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
