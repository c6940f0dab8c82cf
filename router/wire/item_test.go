package wire

import (
	"reflect"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestItemsAreThoseOfTheRootPackage(t *testing.T) {
	for _, raw := range []string{
		evMessage, `{"role":"user","content":"hi"}`, `{"type":null,"id":null,"call_id":null}`, `{ "type" : "message" , "id" : "a" }`,
		`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}`,
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`,
		`{"type":"message","id":5,"call_id":{"a":1}}`, `{"type":5}`, `{"type":["message"]}`, `{"type":"","id":""}`,
		`{"type":"a","type":"b","id":"a","id":7,"call_id":7,"call_id":"b"}`, `{"type":"a","type":null,"id":"a","id":null}`,
		`{"Type":"a","ID":"b"}`, `{"type":"a","TYPE":"b"}`, `{"t\u0079pe":"a"}`, `{"type":"caf\u00e9","id":"é\n\ud800"}`,
		`{"type":"message","id":"<&>"}`, "{\"type\":\"\xff\"}",
		`{}`, `[]`, `null`, `"x"`, `{"type":"a"`, `{"type":"a"}{}`, ``,
		`{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
		`{"type":"message","text":"` + strings.Repeat("x", onceward.MaxItem) + `"}`,
	} {
		want, wantErr := onceward.NewItem([]byte(raw), "")
		got, err := NewItem([]byte(raw))
		if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("%.80s:\n got %+v, %v\nwant %+v, %v", raw, got, err, want, wantErr)
		}
	}
}

const evMessage = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a < b"}]}`
