package worker

import (
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward/worker/guard"
)

// GuardConverter puts the guard around a payload converter; nil is the SDK's own.
// In workflow code an error of a codec then fails the workflow task, which Temporal
// tries again, instead of closing the run or sending it another way. What Permanent
// marks is an error still: a signal that never decodes is listed as refused and
// blocks nothing after it. In activities an error that passes is waited for.
//
// Dial and Temporal.Options guard the client's converter by themselves. A replayer
// needs it where histories are read with a codec that can fail. It is not enough for the
// client of a worker, which is refused: that needs Guard among its plugins.
func GuardConverter(dc converter.DataConverter) converter.DataConverter { return guard.New(dc) }

// Guard is the plugin for a client that is made without Dial and without
// Temporal.Options: client.Options{Plugins: []client.Plugin{worker.Guard()}}.
func Guard() client.Plugin { return guard.Plugin() }

// Permanent marks an error of a codec that no later try mends, such as an unknown
// key id, a failed authentication or malformed data. Unmarked errors of a codec are
// taken for passing ones.
func Permanent(err error) error { return guard.Permanent(err) }
