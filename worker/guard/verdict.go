package guard

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
)

// permanent marks an error that no later try mends.
type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// Permanent marks an error of a codec that no later try mends: an unknown key id,
// a failed authentication, malformed data. A codec's unmarked errors are taken for
// passing ones.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

// IsPermanent reports whether a codec's error is one that no later try mends.
func IsPermanent(err error) bool {
	var marked *permanent
	return errors.As(err, &marked) || ofValue(err)
}

// valueErrors are what the SDK's converters say of a payload or a value, after the
// codec has done its part.
var valueErrors = []error{
	converter.ErrMetadataIsNotSet, converter.ErrEncodingIsNotSet, converter.ErrEncodingIsNotSupported, converter.ErrUnableToEncode,
	converter.ErrUnableToDecode, converter.ErrUnableToSetValue, converter.ErrUnableToFindConverter,
	converter.ErrTypeNotImplementProtoMessage, converter.ErrValuePtrIsNotPointer, converter.ErrValuePtrMustConcreteType, converter.ErrTypeIsNotByteSlice,
}

// ofValue reports whether an error is about a value and its Go type, not about the
// codec.
func ofValue(err error) bool {
	for _, known := range valueErrors {
		if errors.Is(err, known) {
			return true
		}
	}
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
		value  *json.UnsupportedValueError
		other  *json.UnsupportedTypeError
		base   base64.CorruptInputError
		digit  hex.InvalidByteError
	)
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.As(err, &value) || errors.As(err, &other) || errors.As(err, &base) || errors.As(err, &digit)
}

// kind is who wrote a payload.
type kind int

const (
	kindOther kind = iota // somebody's of the user's workflow
	kindOwn               // this library's own workers: it decodes as soon as the codec does
	kindSent              // a person or a program outside: it may never decode
)

func kindOf(to []any) kind {
	switch first(to).(type) {
	case *onceward.Start, *onceward.ActionInput, *onceward.PoolInput,
		*onceward.Opened, *onceward.Decision, *onceward.CallResult, *onceward.ActResult, *onceward.CommitResult, *onceward.Item, *onceward.PoolTest:
		return kindOwn
	case *converter.RawValue, *onceward.Complete, *onceward.Resolve, *onceward.PoolChange, *onceward.TranscriptQuery:
		return kindSent
	}
	return kindOther
}

func rawOf(to []any) *converter.RawValue {
	raw, _ := first(to).(*converter.RawValue)
	return raw
}

// refused is the payload that workflow code reads in place of one that never
// decodes.
func refused(err error) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(onceward.EncodingRefused)},
		Data:     []byte(onceward.Cut(err.Error(), 300)),
	})
}
