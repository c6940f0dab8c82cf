package classify

import (
	"errors"
	"testing"

	"github.com/onceward/onceward"
)

func TestAnswerThatBreaksOffInItsHeadersIsTheNetworks(t *testing.T) {
	const broken = "net/http: HTTP/1.x transport connection broken: "
	for text, want := range map[string]onceward.Class{
		`malformed MIME header: missing colon: "X-Ratelimit-Rem"`:      onceward.ClassNetwork,
		`malformed MIME header line: "X-Ratelimit-Limit-Tokens 100"`:   onceward.ClassNetwork,
		`malformed MIME header: missing colon: "Www-Authenticate-Inv"`: onceward.ClassNetwork,
		`malformed HTTP response "HTTP/1."`:                            onceward.ClassNetwork,
		`malformed HTTP response "H"`:                                  onceward.ClassNetwork,
		`malformed HTTP response ""`:                                   onceward.ClassNetwork,
		`malformed HTTP response "\x15\x03\x01\x00\x02\x02\x16"`:       onceward.ClassEndpointMisconfigured,
		`malformed HTTP response "SSH-2.0-OpenSSH_9.2"`:                onceward.ClassEndpointMisconfigured,
	} {
		f := Classify(Input{Transport: Connection, Err: errors.New(broken + text)})
		if f.Class != want {
			t.Errorf("%s: %s, want %s", text, f.Class, want)
		}
		if want == onceward.ClassNetwork && f.StateEffect != onceward.EffectBreaker {
			t.Errorf("%s: effect %s: one cut packet must not disable or throttle", text, f.StateEffect)
		}
	}
}
