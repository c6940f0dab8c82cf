package guard

import (
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/onceward/onceward"
)

const (
	// inputPatience is how long an activity waits for its own input: nothing was
	// done yet, and a failed decode would count as an attempt that may have been
	// sent.
	inputPatience = 30 * time.Second
	// firstPause and lastPause bound the pauses between two tries.
	firstPause = 50 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// wait tries again in an activity until the codec answers, the activity's time is
// up or its heartbeat would be missed. Temporal does not repeat attempts and
// commits, so a result that cannot be encoded for a second would be lost.
func (g *Converter) wait(to []any, do func() error, err error) error {
	if IsPermanent(err) {
		return err
	}
	info := activity.GetInfo(g.ctx)
	ours := ownInput(to) && info.Attempt == 1
	patience := inputPatience
	if !ours && !info.IsLocalActivity {
		patience = info.HeartbeatTimeout * 3 / 4
	}
	if info.IsLocalActivity || patience <= 0 {
		patience = 5 * time.Second
	}
	end := time.Now().Add(patience)
	for pause := firstPause; time.Now().Before(end); pause = min(2*pause, lastPause) {
		timer := time.NewTimer(pause)
		select {
		case <-g.ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		if err = do(); err == nil || IsPermanent(err) {
			return err
		}
		if ours { // no heartbeat with details was sent yet that this one would replace
			activity.RecordHeartbeat(g.ctx)
		}
	}
	return err
}

// ownInput reports whether it is the input of one of this library's activities
// that is decoded: then the activity has done nothing yet.
func ownInput(to []any) bool {
	switch first(to).(type) {
	case *onceward.CallInput, *onceward.ActInput, *onceward.CommitInput, *onceward.ReadInput, *onceward.TestInput:
		return true
	}
	return false
}
