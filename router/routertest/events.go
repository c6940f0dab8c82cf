package routertest

import "encoding/json"

// event is one stream event before it has its sequence number. A broken event
// is sent as it is; a bare one has neither a name nor a number.
type event struct {
	typ    string
	fields []byte // a JSON object
	broken bool
	bare   bool
}

func newEvent(typ string, fields any) event { return event{typ: typ, fields: encode(fields)} }

// frame writes the event as SSE with its sequence number.
func (e event) frame(n int) []byte {
	if e.bare {
		return append(append([]byte("data: "), e.fields...), "\n\n"...)
	}
	var data []byte
	if e.broken {
		data = e.fields
	} else {
		data = append(data, encode(struct {
			Type string `json:"type"`
			N    int    `json:"sequence_number"`
		}{e.typ, n})...)
		data = append(data[:len(data)-1], ',')
		data = append(data, e.fields[1:]...)
	}
	out := append([]byte("event: "+e.typ+"\ndata: "), data...)
	return append(out, "\n\n"...)
}

type responseField struct {
	Response response `json:"response"`
}

type itemEvent struct {
	OutputIndex int             `json:"output_index"`
	Item        json.RawMessage `json:"item"`
}

type partEvent struct {
	ItemID       string          `json:"item_id"`
	OutputIndex  int             `json:"output_index"`
	ContentIndex int             `json:"content_index"`
	Part         json.RawMessage `json:"part"`
}

type textEvent struct {
	ItemID       string  `json:"item_id"`
	OutputIndex  int     `json:"output_index"`
	ContentIndex int     `json:"content_index"`
	Delta        *string `json:"delta,omitempty"`
	Text         *string `json:"text,omitempty"`
	Refusal      *string `json:"refusal,omitempty"`
	Logprobs     *[]int  `json:"logprobs,omitempty"`
}

type argumentsEvent struct {
	ItemID      string  `json:"item_id"`
	OutputIndex int     `json:"output_index"`
	Delta       *string `json:"delta,omitempty"`
	Name        string  `json:"name,omitempty"`
	Arguments   *string `json:"arguments,omitempty"`
}

type summaryEvent struct {
	ItemID       string          `json:"item_id"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        *string         `json:"delta,omitempty"`
	Text         *string         `json:"text,omitempty"`
	Part         json.RawMessage `json:"part,omitempty"`
}

type errorEvent struct {
	Error errorObject `json:"error"`
}

// errorEventOf makes an error event: nested as recorded from the real API, or
// flat as its published specification says. Both exist on the wire.
func errorEventOf(f *activeFault, code, message string) event {
	if f.Flat {
		return newEvent("error", struct {
			Code    string  `json:"code"`
			Message string  `json:"message"`
			Param   *string `json:"param"`
		}{code, message, nil})
	}
	return newEvent("error", errorEvent{errorObject{Message: message, Type: code, Code: &code}})
}

// events lists every event but the terminal one, in the real order.
func (a *answer) events() []event {
	list := []event{
		newEvent("response.created", responseField{a.base}),
		newEvent("response.in_progress", responseField{a.base}),
	}
	for i, it := range a.items {
		hide := a.sealInSnapshotOnly
		list = append(list, newEvent("response.output_item.added", itemEvent{i, it.form("in_progress", false, hide)}))
		switch it.kind {
		case "message":
			list = append(list, it.textEvents(i)...)
		case "function_call":
			for _, d := range pieces(it.text) {
				list = append(list, newEvent("response.function_call_arguments.delta", argumentsEvent{ItemID: it.id, OutputIndex: i, Delta: &d}))
			}
			list = append(list, newEvent("response.function_call_arguments.done", argumentsEvent{ItemID: it.id, OutputIndex: i, Name: it.name, Arguments: &it.text}))
		case "reasoning":
			list = append(list, it.summaryEvents(i)...)
		}
		list = append(list, newEvent("response.output_item.done", itemEvent{i, it.done(hide)}))
	}
	return list
}

func (it outputItem) textEvents(i int) []event {
	none := []int{}
	list := []event{newEvent("response.content_part.added", partEvent{it.id, i, 0, it.part("")})}
	for _, d := range pieces(it.text) {
		if it.refusal {
			list = append(list, newEvent("response.refusal.delta", textEvent{ItemID: it.id, OutputIndex: i, Delta: &d}))
			continue
		}
		list = append(list, newEvent("response.output_text.delta", textEvent{ItemID: it.id, OutputIndex: i, Delta: &d, Logprobs: &none}))
	}
	if it.refusal {
		list = append(list, newEvent("response.refusal.done", textEvent{ItemID: it.id, OutputIndex: i, Refusal: &it.text}))
	} else {
		list = append(list, newEvent("response.output_text.done", textEvent{ItemID: it.id, OutputIndex: i, Text: &it.text, Logprobs: &none}))
	}
	return append(list, newEvent("response.content_part.done", partEvent{it.id, i, 0, it.part(it.text)}))
}

func (it outputItem) summaryEvents(i int) []event {
	if it.summary == "" {
		return nil
	}
	list := []event{newEvent("response.reasoning_summary_part.added", summaryEvent{ItemID: it.id, OutputIndex: i, Part: summaryPart("")})}
	for _, d := range pieces(it.summary) {
		list = append(list, newEvent("response.reasoning_summary_text.delta", summaryEvent{ItemID: it.id, OutputIndex: i, Delta: &d}))
	}
	return append(list,
		newEvent("response.reasoning_summary_text.done", summaryEvent{ItemID: it.id, OutputIndex: i, Text: &it.summary}),
		newEvent("response.reasoning_summary_part.done", summaryEvent{ItemID: it.id, OutputIndex: i, Part: summaryPart(it.summary)}))
}

// terminal is the last event of a stream without faults.
func (a *answer) terminal() event {
	r := a.final(a.items)
	if a.emptySnapshot {
		r.Output = []json.RawMessage{}
	}
	return newEvent("response."+r.Status, responseField{r})
}

// pieces cuts a text into the sizes that a model streams, never inside a
// character. An empty text has no delta.
func pieces(s string) []string {
	var out []string
	for s != "" {
		head := cutRunes(s, 6)
		if head == "" {
			head = s
		}
		out = append(out, head)
		s = s[len(head):]
	}
	return out
}
