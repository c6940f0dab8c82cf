package schema

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type base struct {
	Order string `json:"order_id" jsonschema:"the order's number"`
}

type node struct {
	Name     string `json:"name"`
	Children []node `json:"children"`
}

type plain struct {
	base
	Amount  int64     `json:"amount"`
	Rate    float64   `json:"rate"`
	Express bool      `json:"express"`
	Note    *string   `json:"note,omitempty"`
	Reason  string    `json:"reason,omitempty" onceward:"incidental"`
	At      time.Time `json:"at"`
	Lines   []line    `json:"lines"`
	Grid    [2]int    `json:"grid"`
	Size    uint8     `json:"size"`
	Blob    []byte    `json:"blob"`
	From    netip.Addr
	Hidden  string `json:"-"`
	private string
}

type line struct {
	SKU string `json:"sku"`
	N   uint   `json:"n"`
}

type linked struct {
	Name   string  `json:"name"`
	Parent *linked `json:"parent" jsonschema:"who it belongs to"`
}

type holder struct {
	Left  *node `json:"left"`
	Right node  `json:"right"`
}

type optionalBase struct {
	*Embedded
	B int `json:"b"`
}

// Embedded is embedded by pointer.
type Embedded struct {
	A int `json:"a"`
}

type shadowing struct {
	base
	Order int `json:"order_id"`
}

func TestSchemasAreStrict(t *testing.T) {
	for _, row := range []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"no fields", reflect.TypeFor[struct{}](), `{"type":"object","additionalProperties":false,"properties":{},"required":[]}`},
		{"plain values", reflect.TypeFor[plain](), `{"type":"object","required":["order_id","amount","rate","express","note","reason","at","lines","grid","size","blob","From"],"properties":{` +
			`"order_id":{"type":"string","description":"the order's number"},"amount":{"type":"integer"},"rate":{"type":"number"},"express":{"type":"boolean"},` +
			`"note":{"type":["string","null"]},"reason":{"type":["string","null"]},"at":{"type":"string","format":"date-time"},` +
			`"lines":{"type":"array","items":{"type":"object","required":["sku","n"],"properties":{"sku":{"type":"string"},"n":{"type":"integer","minimum":0}},"additionalProperties":false}},` +
			`"grid":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},"size":{"type":"integer","minimum":0,"maximum":255},"blob":{"type":"string","description":"base64"},"From":{"type":"string"}},"additionalProperties":false}`},
		{"recursion into the root", reflect.TypeFor[linked](), `{"type":"object","required":["name","parent"],"properties":{"name":{"type":"string"},"parent":{"description":"who it belongs to","anyOf":[{"$ref":"#"},{"type":"null"}]}},"additionalProperties":false}`},
		{"recursion below the root", reflect.TypeFor[holder](), `{"$defs":{"node":{"type":"object","required":["name","children"],"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"additionalProperties":false}},"type":"object","required":["left","right"],"properties":{"left":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]},"right":{"$ref":"#/$defs/node"}},"additionalProperties":false}`},
		{"embedded pointer", reflect.TypeFor[optionalBase](), `{"type":"object","required":["a","b"],"properties":{"a":{"type":["integer","null"]},"b":{"type":"integer"}},"additionalProperties":false}`},
		{"hidden field", reflect.TypeFor[shadowing](), `{"type":"object","required":["order_id"],"properties":{"order_id":{"type":"integer"}},"additionalProperties":false}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 20 {
				s, err := New(row.typ, true)
				if err != nil {
					t.Fatal(err)
				}
				if !sameJSON(t, string(s.JSON), row.want) {
					t.Fatalf("schema\n%s\nwant\n%s", s.JSON, row.want)
				}
				again, err := New(row.typ, true)
				if err != nil || string(again.JSON) != string(s.JSON) {
					t.Fatalf("two builds differ:\n%s\n%s", s.JSON, again.JSON)
				}
				if strings.ContainsAny(string(s.JSON), "\n\t") {
					t.Fatalf("not compact: %s", s.JSON)
				}
			}
		})
	}
}

func TestPropertiesKeepTheOrderOfTheFields(t *testing.T) {
	s, err := New(reflect.TypeFor[plain](), false)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, key := range []string{`"order_id":`, `"amount":`, `"rate":`, `"note":`, `"at":`} {
		at := strings.Index(string(s.JSON), key)
		if at < last {
			t.Errorf("%s is out of order in %s", key, s.JSON)
		}
		last = at
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

type odd struct{}

func (odd) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type deep1 struct{ V [][][][][][][][][][][]int }

func TestTypesWithoutAStrictSchemaAreRefusedByField(t *testing.T) {
	for _, row := range []struct {
		name  string
		typ   reflect.Type
		write bool
		want  string
	}{
		{"not a struct", reflect.TypeFor[string](), false, "string is not a struct; wrap it in one, so that every value has a name"},
		{"pointer", reflect.TypeFor[*line](), false, "*schema.line is not a struct; wrap it in one, so that every value has a name"},
		{"map", reflect.TypeFor[struct {
			Tags map[string]string `json:"tags"`
		}](), false, "field tags: a map has no strict schema; use a list of structs with the fields name and value"},
		{"nested map", reflect.TypeFor[struct {
			Lines []struct {
				M map[string]int `json:"m"`
			} `json:"lines"`
		}](), false, "field lines[].m: a map has no strict schema; use a list of structs with the fields name and value"},
		{"any", reflect.TypeFor[struct{ V any }](), false, "field V: interface {} says nothing to the model; use a concrete type"},
		{"raw JSON", reflect.TypeFor[struct{ V json.RawMessage }](), false, "field V: json.RawMessage writes its own JSON, which no schema can be made of; use a struct or a plain type"},
		{"own JSON", reflect.TypeFor[struct{ V odd }](), false, "field V: schema.odd writes its own JSON, which no schema can be made of; use a struct or a plain type"},
		{"channel", reflect.TypeFor[struct{ C chan int }](), false, `field C: chan int has no JSON form; take it out, or tag it json:"-"`},
		{"function", reflect.TypeFor[struct{ F func() }](), false, `field F: func() has no JSON form; take it out, or tag it json:"-"`},
		{"number as text", reflect.TypeFor[struct {
			N int `json:"n,string"`
		}](), false, "field n: the option string gives a number that is a text; use a number or a string"},
		{"keys that differ in case", reflect.TypeFor[struct {
			A int `json:"amount"`
			B int `json:"Amount"`
		}](), false, "field Amount: there is a second field amount; keys must differ in more than case"},
		{"too deep", reflect.TypeFor[deep1](), false, "field V[][][][][][][][][]: nested deeper than 10 levels, which resources refuse; flatten it"},
		{"idempotency key", reflect.TypeFor[struct {
			K string `json:"idempotency_key"`
		}](), true, "field idempotency_key: the model must not choose the key of an effect; leave the field out, Action.Key is made from the action id"},
		{"idempotency key in another form", reflect.TypeFor[struct {
			K string `json:"Idempotency-Key"`
		}](), true, "field Idempotency-Key: the model must not choose the key of an effect; leave the field out, Action.Key is made from the action id"},
		{"nested action id", reflect.TypeFor[struct {
			In struct{ ActionID string } `json:"in"`
		}](), true, "field in.ActionID: the model must not choose the key of an effect; leave the field out, Action.Key is made from the action id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := New(row.typ, row.write)
			if err == nil || err.Error() != row.want {
				t.Errorf("refused with %v, want %s", err, row.want)
			}
		})
	}
	if _, err := New(reflect.TypeFor[struct {
		K string `json:"idempotency_key"`
	}](), false); err != nil {
		t.Errorf("a read tool may look an idempotency key up: %v", err)
	}
}

func TestArgumentsAreCheckedInWordsForTheModel(t *testing.T) {
	type in struct {
		Order  string  `json:"order_id"`
		Amount int     `json:"amount"`
		Note   *string `json:"note"`
		Lines  []line  `json:"lines,omitempty"`
		Size   uint8   `json:"size,omitempty"`
		Parent *linked `json:"parent,omitempty"`
	}
	s, err := New(reflect.TypeFor[in](), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, args, want string }{
		{"all keys", `{"order_id":"1","amount":2,"note":null,"lines":[{"sku":"x","n":1}],"size":null,"parent":{"name":"a","parent":null}}`, ""},
		{"optional keys left out", `{"order_id":"1","amount":2}`, ""},
		{"blank", ``, "order_id: is missing\namount: is missing"},
		{"not an object", `[]`, "must be object, not array"},
		{"not JSON", `{`, "not valid JSON: unexpected end of JSON input"},
		{"wrong types", `{"order_id":1,"amount":"2"}`, "order_id: must be string, not integer\namount: must be integer, not string"},
		{"fraction for an integer", `{"order_id":"1","amount":2.5}`, "amount: must be integer, not number"},
		{"null for a required key", `{"order_id":null,"amount":2}`, "order_id: must be string, not null"},
		{"unknown key", `{"order_id":"1","amount":2,"idempotency_key":"k"}`, "idempotency_key: is not a known key; the keys are: order_id, amount, note, lines, size, parent"},
		{"inside a list", `{"order_id":"1","amount":2,"lines":[{"sku":"x","n":1},{"sku":"x","n":-1}]}`, "lines[1].n: must be at least 0, not -1"},
		{"out of range", `{"order_id":"1","amount":2,"size":256}`, "size: must be at most 255, not 256"},
		{"behind a reference", `{"order_id":"1","amount":2,"parent":{"name":"a","parent":{"name":1}}}`, "parent.parent.name: must be string, not integer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := s.Validate(json.RawMessage(row.args))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("answer %q, want %q", got, row.want)
			}
		})
	}
}

func TestOutputsReadTheirOwnSchemaBack(t *testing.T) {
	s, err := New(reflect.TypeFor[plain](), true)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(plain{Lines: []line{{SKU: "x"}}, private: "p", Blob: []byte("b"), From: netip.MustParseAddr("127.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(raw); err != nil {
		t.Errorf("an encoded value of the type: %v", err)
	}
}
