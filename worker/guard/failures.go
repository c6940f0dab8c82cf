package guard

import (
	"time"

	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
)

// failures waits in an activity for a codec that cannot encode a failure yet: the
// SDK would panic, and the server would hear of the failure as a lost worker.
// In workflow code the panic fails the task, as it should.
type failures struct {
	inner      converter.FailureConverter
	ofActivity bool
}

// patience bounds the wait for the codec of an activity's failure.
const patience = 8 * time.Second

func (f failures) WithSerializationContext(ctx converter.SerializationContext) converter.FailureConverter {
	where, ok := ctx.(converter.ActivitySerializationContext)
	return failures{converter.WithFailureConverterSerializationContext(f.inner, ctx), ok && !where.IsLocal}
}

// ErrorToFailure implements converter.FailureConverter. Workflow code encodes no
// failure of an activity, so one that is encoded is encoded in the activity.
func (f failures) ErrorToFailure(err error) *failurepb.Failure {
	if f.ofActivity {
		end := time.Now().Add(patience)
		for pause := firstPause; time.Now().Before(end); pause = min(2*pause, lastPause) {
			if failure, ok := f.try(err); ok {
				return failure
			}
			time.Sleep(pause)
		}
	}
	return f.inner.ErrorToFailure(err)
}

func (f failures) try(err error) (failure *failurepb.Failure, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if err, is := p.(error); is && ofValue(err) {
				panic(p) // a detail that no converter takes: waiting would not help
			}
			ok = false
		}
	}()
	return f.inner.ErrorToFailure(err), true
}

// FailureToError implements converter.FailureConverter.
func (f failures) FailureToError(failure *failurepb.Failure) error {
	return f.inner.FailureToError(failure)
}
