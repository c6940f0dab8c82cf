//go:build unix

package classify

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/router/internal/cputime"
)

func BenchmarkClassify2KB(b *testing.B) {
	message := "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766. "
	bodies := map[string][]byte{
		"fields": []byte(`{"error":{"message":"` + message + `","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{` + strings.Repeat(`"hate":{"filtered":false,"severity":"safe"},`, 35) + `"jailbreak":{"filtered":true,"detected":true}}}}}`),
		"prose":  []byte(`{"error":{"message":"` + strings.Repeat("Something about this request was not to our liking, so here is a long story. ", 25) + `","type":"server_error","param":null,"code":null}}`),
		"page":   []byte("<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>" + strings.Repeat("body { margin: 0 } ", 50) + "</style></head><body>" + strings.Repeat("<p>Nothing to see here</p>", 35) + "</body></html>"),
	}
	for _, name := range []string{"fields", "prose", "page"} {
		body := bodies[name]
		status := map[string]int{"fields": 400, "prose": 500, "page": 502}[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			in := Input{Transport: HTTP, Status: status, Body: body, Now: time.Unix(1, 0)}
			cputime.Loop(b, func() { Classify(in) })
		})
	}
}
