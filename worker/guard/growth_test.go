package guard

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// wrapped is a codec that writes a payload another way.
type wrapped struct {
	write func([]byte) []byte
	err   error
}

func (w wrapped) Encode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		out[i] = proto.Clone(p).(*commonpb.Payload)
		out[i].Data = w.write(p.GetData())
	}
	return out, w.err
}

func (w wrapped) Decode(in []*commonpb.Payload) ([]*commonpb.Payload, error) { return in, nil }

func TestCodecThatMakesPayloadsTooLargeIsRefused(t *testing.T) {
	based := func(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b)) }
	for name, c := range map[string]struct {
		dc      converter.DataConverter
		refused bool
	}{
		"E27 the SDK's own":               {converter.GetDefaultDataConverter(), false},
		"E27 one that compresses":         {converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true})), false},
		"E27 one that adds a quarter":     {converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), wrapped{write: func(b []byte) []byte { return append(b, b[:len(b)/4]...) }}), false},
		"E27 base64":                      {converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), wrapped{write: based}), true},
		"E27 twice the size":              {converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), wrapped{write: func(b []byte) []byte { return bytes.Repeat(b, 2) }}), true},
		"E27 one that is down at present": {converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), wrapped{write: based, err: errors.New("down")}), false},
	} {
		err := CheckGrowth(New(c.dc))
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "results leave room for 30 %") {
			t.Errorf("%s: %v, refused %t", name, err, c.refused)
		}
	}
}
