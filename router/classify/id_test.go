package classify

import (
	"testing"

	"github.com/onceward/onceward"
)

func TestIDThatIsRefusedIsKnownByItsPath(t *testing.T) {
	for body, want := range map[string]onceward.Repair{
		`{"error":{"message":"Unknown parameter: 'input[1].id'.","param":"input[1].id","code":"unknown_parameter"}}`:                   onceward.RepairStripIDs,
		`{"error":{"message":"Input should be a valid string","code":"invalid_type","param":"input.1.id"}}`:                            onceward.RepairStripIDs,
		`{"error":{"message":"Not allowed here","param":"body.input[12].call_id","code":"invalid_value"}}`:                             onceward.RepairStripIDs,
		`{"error":{"message":"Missing required parameter: 'input[1].id'.","param":"input[1].id","code":"missing_required_parameter"}}`: onceward.RepairNone,
		`{"error":{"message":"Invalid value: 'x'.","param":"input[1].content[0].file_idx","code":"invalid_value"}}`:                    onceward.RepairNone,
		`{"error":{"message":"Invalid value: 'x'.","param":"metadata.user_id","code":"invalid_value"}}`:                                onceward.RepairNone,
	} {
		f := Classify(Input{Transport: HTTP, Status: 400, Body: []byte(body)})
		if f.Class != onceward.ClassInvalidRequest || f.Repair != want {
			t.Errorf("E14 %s: %s, repair %q", body, f.Class, f.Repair)
		}
	}
}
