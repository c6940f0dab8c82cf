// Package sealed is the payload codec of the tests: AES-256-GCM under a key of
// their own, with faults on demand.
package sealed

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// Encoding is of what the codec has sealed.
const Encoding = "binary/sealed"

// Codec seals payloads. Its zero value has no faults; it is safe for concurrent use.
type Codec struct {
	fault    Fault
	stranger bool
	knowsAll bool

	mu    sync.Mutex
	began time.Time // of the fault
}

// Fault makes a codec fail for a time from the first payload on whose plain text
// holds a text.
type Fault struct {
	On   string // "encode", "decode", "one": decode of the matching payloads alone, or "stall": decode hangs and then answers; "": never
	Text string
	For  time.Duration
}

// ParseFault reads ON:DURATION:TEXT.
func ParseFault(s string) (Fault, error) {
	if s == "" {
		return Fault{}, nil
	}
	on, rest, _ := strings.Cut(s, ":")
	lasts, text, ok := strings.Cut(rest, ":")
	d, err := time.ParseDuration(lasts)
	if err != nil || !ok || on != "encode" && on != "decode" && on != "one" && on != "stall" {
		return Fault{}, fmt.Errorf("read fault %q: want encode|decode|one|stall:DURATION:TEXT", s)
	}
	return Fault{on, text, d}, nil
}

// New returns a codec with a fault.
func New(f Fault) *Codec { return &Codec{fault: f} }

// Stranger returns a codec that seals under a key which those of New do not have.
func Stranger() *Codec { return &Codec{stranger: true, knowsAll: true} }

// Knowing returns a codec that has both keys.
func Knowing() *Codec { return &Codec{knowsAll: true} }

// Own returns a converter that is no codec of the SDK's and fails as the codec does:
// what it writes is not sealed.
func (c *Codec) Own() converter.DataConverter { return own{converter.GetDefaultDataConverter(), c} }

type own struct {
	converter.DataConverter
	codec *Codec
}

func (o own) ToPayload(v any) (*commonpb.Payload, error) {
	p, err := o.DataConverter.ToPayload(v)
	if err == nil {
		err = o.codec.down("encode", p.GetData())
	}
	return p, err
}

func (o own) ToPayloads(v ...any) (*commonpb.Payloads, error) {
	p, err := o.DataConverter.ToPayloads(v...)
	for _, one := range p.GetPayloads() {
		if err == nil {
			err = o.codec.down("encode", one.GetData())
		}
	}
	return p, err
}

func (o own) FromPayload(p *commonpb.Payload, v any) error {
	if err := o.codec.down("decode", p.GetData()); err != nil {
		return err
	}
	return o.DataConverter.FromPayload(p, v)
}

func (o own) FromPayloads(p *commonpb.Payloads, v ...any) error {
	for _, one := range p.GetPayloads() {
		if err := o.codec.down("decode", one.GetData()); err != nil {
			return err
		}
	}
	return o.DataConverter.FromPayloads(p, v...)
}

// Converter returns the SDK's converter behind the codec.
func (c *Codec) Converter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
}

// Said is what a codec whose fault begins writes to stderr.
const Said = "the codec begins to fail at"

var errDown = errors.New("the key service does not answer")

// down reports whether the fault is on, which a matching payload begins. All
// payloads fail then, as they do when a service is down, unless it is down for one
// key.
func (c *Codec) down(on string, plain []byte) error {
	if c.fault.On != on && (c.fault.On != "stall" && c.fault.On != "one" || on != "decode") {
		return nil
	}
	matches := bytes.Contains(plain, []byte(c.fault.Text))
	if !matches && c.fault.On == "one" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		if !matches {
			return nil
		}
		c.began = time.Now()
		fmt.Fprintln(os.Stderr, Said, on)
	}
	switch left := c.fault.For - time.Since(c.began); {
	case left > 0 && c.fault.On == "stall":
		time.Sleep(left)
	case left > 0:
		return errDown
	}
	return nil
}

func aead(id byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(bytes.Repeat([]byte{id}, 32))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Encode implements converter.PayloadCodec.
func (c *Codec) Encode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	id := byte(1)
	if c.stranger {
		id = 2
	}
	seal, err := aead(id)
	if err != nil {
		return nil, err
	}
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		if err := c.down("encode", p.GetData()); err != nil {
			return nil, err
		}
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, seal.NonceSize())
		if _, err := rand.Read(nonce); err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(Encoding), "key": {id}},
			Data:     seal.Seal(nonce, nonce, plain, nil),
		}
	}
	return out, nil
}

// Decode implements converter.PayloadCodec. Its errors are unmarked, as those of a
// codec that knows nothing of the guard.
func (c *Codec) Decode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		out[i] = p
		if string(p.GetMetadata()[converter.MetadataEncoding]) != Encoding {
			continue
		}
		id := p.GetMetadata()["key"]
		if len(id) != 1 || id[0] != 1 && !c.knowsAll {
			return nil, fmt.Errorf("unknown key %x", id)
		}
		open, err := aead(id[0])
		if err != nil {
			return nil, err
		}
		if len(p.GetData()) < open.NonceSize() {
			return nil, errors.New("sealed payload is too short")
		}
		plain, err := open.Open(nil, p.Data[:open.NonceSize()], p.Data[open.NonceSize():], nil)
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, err
		}
		if err := c.down("decode", out[i].GetData()); err != nil {
			return nil, err
		}
	}
	return out, nil
}
