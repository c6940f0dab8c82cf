package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

// maxCallID is the longest call id that every host of the Responses API takes.
const maxCallID = 64

// strictCallID is the length of a call id that the strictest hosts take: letters
// and digits, exactly so many.
const strictCallID = 9

// callIDs maps the call ids of a transcript to what goes on the wire. Some hosts
// use longer ids or other characters than others take, and some count from call_0
// again in every response. Call and output get the same id, and the same one in
// every turn; the transcript keeps what the model wrote.
type callIDs struct {
	to      Target
	longest int
	strict  bool
	seen    map[string]int    // how many calls have had the id so far
	wire    map[string]string // of the last of them
	renamed int               // calls
}

// newCallIDs returns the map of one transcript to ids of at most longest bytes,
// which must be 15 or more. After RepairStripIDs every id has the form that the
// strictest hosts take.
func newCallIDs(longest int, to Target, repair onceward.Repair) *callIDs {
	return &callIDs{
		to: to, longest: longest, strict: repair == onceward.RepairStripIDs || repair == onceward.RepairStripReasoning,
		seen: map[string]int{}, wire: map[string]string{},
	}
}

// next returns the wire id of an item's call id, in the order of the transcript.
func (c *callIDs) next(item onceward.Item) string {
	id := item.CallID
	if id == "" {
		return ""
	}
	if !strings.HasSuffix(item.Type, "_call") {
		if wire, ok := c.wire[id]; ok {
			return wire
		}
		return c.fit(id, 1, true) // an output whose call is not here
	}
	c.seen[id]++
	wire := c.fit(id, c.seen[id], c.to.home(item))
	c.wire[id] = wire
	if wire != id {
		c.renamed++
	}
	return wire
}

// fit returns the id of the nth call that has it.
func (c *callIDs) fit(id string, n int, home bool) string {
	name := id
	if n > 1 {
		name += "\x00" + strconv.Itoa(n)
	}
	switch {
	case c.strict && n == 1 && len(id) == strictCallID && !strings.ContainsAny(id, "_-") && plainID(id):
		return id
	case c.strict:
		return strictID(name)
	case n > 1, len(id) > c.longest, !home && !plainID(id):
		long := digestID(name)
		return long[:min(len(long), c.longest)]
	}
	return id
}

func digestID(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "call_" + hex.EncodeToString(sum[:20])
}

// strictID returns a digest in the form of strictCallID.
func strictID(s string) string {
	sum := sha256.Sum256([]byte(s))
	id := new(big.Int).SetBytes(sum[:]).Text(62)
	return strings.Repeat("0", max(0, strictCallID-len(id))) + id[:min(len(id), strictCallID)]
}
