package guard

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"go.temporal.io/sdk/converter"
)

// Bounds of what a codec may add. The sizes of results and of what continue-as-new
// carries leave room for it below what the server takes of one payload; beyond, it
// would refuse a run's next step for ever.
const (
	maxGrowth  = 0.3
	growthSize = 256 << 10 // of the value that is encoded to see it, in bytes
)

// CheckGrowth refuses a converter that makes payloads too large. One that cannot
// encode at the moment is not refused.
func CheckGrowth(dc converter.DataConverter) error {
	noise := make([]byte, growthSize*3/4) // a codec that compresses gains nothing
	_, _ = rand.Read(noise)
	value := base64.StdEncoding.EncodeToString(noise)
	plain, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		return fmt.Errorf("encode %d bytes: %w", len(value), err)
	}
	coded, err := dc.ToPayload(value)
	if err != nil {
		return nil
	}
	if growth := float64(coded.Size())/float64(plain.Size()) - 1; growth > maxGrowth {
		return fmt.Errorf("the client's payload converter adds %.0f %% to a payload, and results leave room for %.0f %%: what it writes is best binary, without base64 or JSON around it", 100*growth, 100*maxGrowth)
	}
	return nil
}
