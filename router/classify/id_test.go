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
		// Validators of vLLM and its kind, which print the place as a list.
		`{"detail":[{"type":"string_pattern_mismatch","loc":["body","input","list[ResponseInputItem]",1,"function_call","id"],"msg":"String should match pattern '^rs_'","input":"fc_1"}]}`:                                                              onceward.RepairStripIDs,
		`{"detail":[{"type":"extra_forbidden","loc":["body","input",1,"id"],"msg":"Extra inputs are not permitted","input":"rs_1"}]}`:                                                                                                                    onceward.RepairStripIDs,
		`{"detail":[{"type":"missing","loc":["body","input",1,"id"],"msg":"Field required","input":{}}]}`:                                                                                                                                                onceward.RepairNone,
		`{"error":{"message":"[{'type': 'missing', 'loc': ('body', 'input', 0, 'role'), 'msg': 'Field required'}, {'type': 'string_too_long', 'loc': ('body', 'input', 1, 'call_id'), 'msg': 'String should have at most 64 characters'}]","code":400}}`: onceward.RepairStripIDs,
		`{"error":{"message":"[{'type': 'string_type', 'loc': ('body', 'metadata', 'id'), 'msg': 'Input should be a valid string'}]","code":400}}`:                                                                                                       onceward.RepairNone,
	} {
		for _, status := range []int{400, 422} {
			f := Classify(Input{Transport: HTTP, Status: status, Body: []byte(body)})
			if f.Class != onceward.ClassInvalidRequest || f.Repair != want {
				t.Errorf("E14 %d %s: %s, repair %q", status, body, f.Class, f.Repair)
			}
		}
	}
}
