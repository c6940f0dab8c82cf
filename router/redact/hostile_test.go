package redact_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/redact"
)

// pool has as many credentials as a large pool.
func pool() *redact.Set {
	keys := []string{shapeless, "sk-proj-" + strings.Repeat("abcDEF12", 20)}
	for n := range 24 {
		keys = append(keys, fmt.Sprintf("%c%d-Key/of+resource_%d", 'a'+n, n*n*n+17, n))
	}
	return redact.NewSet(keys...)
}

func benchmarkBody(b *testing.B, set *redact.Set, piece string) {
	body := []byte(strings.Repeat(piece, (1<<20)/len(piece)))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.Copy(io.Discard, set.Reader(io.NopCloser(bytes.NewReader(body)), nil)); err != nil {
			b.Fatal(err)
		}
	}
}

// What a host can send without knowing a key costs no more than its bytes: a
// body of escapes must not hold a worker up.
func BenchmarkHostileBody(b *testing.B) {
	set := pool()
	for name, piece := range map[string]string{
		"backslashes": `\`, "backslashes-u": strings.Repeat(`\`, 15) + "u0073", "percent": "%25", "amp": "&amp;", "reference": "&#x6f;", "escaped": `\u006f`, "escaped-key": `\u0073\u006b\u002d`,
		"begun": "orchid-gateway-42-nort-", "begun-short": "sk-proj-", "begun-base64": "b3JjaGlk\n", "digits": "1234567890", "base64": "b3JjaGlkLWdhdGV3YXktNDItbm9y",
	} {
		b.Run(name, func(b *testing.B) { benchmarkBody(b, set, piece) })
	}
}

// What hosts send every day.
func BenchmarkOrdinaryBody(b *testing.B) {
	for name, set := range map[string]*redact.Set{"3-keys": redact.NewSet(shapeless, "sk-proj-abcDEF1234567890abcDEF", "another-key-of-this-pool"), "26-keys": pool()} {
		for kind, piece := range map[string]string{
			"stream": `data: {"type":"response.output_text.delta","item_id":"msg_68a1f0c2","output_index":0,"content_index":0,"delta":" order"}` + "\n\n",
			"json":   `{"id":"call_17","type":"function_call","arguments":"{\"order_id\":\"A-1009\",\"amount\":1299,\"note\":\"The parcel\\nnever came.\"}","status":"completed"},` + "\n  ",
			"prose":  "The customer says that the parcel never came, and asks for the money. We looked at the order and found that it was sent on Monday. ",
		} {
			b.Run(kind+"/"+name, func(b *testing.B) { benchmarkBody(b, set, piece) })
		}
	}
}
