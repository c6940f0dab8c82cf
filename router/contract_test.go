package router

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// breaches returns the kinds of drift among notices.
func breaches(notices []string) string {
	var kinds []string
	for _, n := range notices {
		if kind := onceward.BreachOf(n); kind != "" {
			kinds = append(kinds, string(kind))
		}
	}
	return strings.Join(kinds, " ")
}

func TestBrokenContractsAreCarriedOutAndNoted(t *testing.T) {
	two := callItem + `,` + strings.NewReplacer("fc_1", "fc_2", "call_1", "call_2").Replace(callItem)
	echo := func(member string) string { return whole(textItem, used10, member) }
	yes := whole(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"{\"b\":true}"}]}`, used10)
	for name, c := range map[string]struct {
		chat   bool
		body   string
		change func(*Resource, *onceward.ModelRequest)
		want   onceward.Breach // "": none
	}{
		"E11 two calls where one at a time was asked for": {body: whole(two, used10), want: onceward.BreachParallel},
		"E11 the same of chat completions": {chat: true, want: onceward.BreachParallel,
			body: chatEnd(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{\"a\":2}"}}]}`, "tool_calls", chatUsed)},
		"two calls where they are allowed":  {body: whole(two, used10), change: func(r *Resource, _ *onceward.ModelRequest) { r.Deployments[0].Capability.ParallelTools = true }},
		"parallel calls in force":           {body: echo(`"parallel_tool_calls":true`), want: onceward.BreachParallel},
		"the answer is stored":              {body: echo(`"store":true`), want: onceward.BreachStore},
		"the answer is not stored":          {body: echo(`"store":false`)},
		"a lower output limit":              {body: echo(`"max_output_tokens":500`), want: onceward.BreachOutput},
		"the output limit that was sent":    {body: echo(`"max_output_tokens":1000`)},
		"another model":                     {body: strings.Replace(echo(`"store":false`), `"model":"m"`, `"model":"tiny-1b"`, 1), want: onceward.BreachModel},
		"a snapshot of the model":           {body: strings.Replace(echo(`"store":false`), `"model":"m"`, `"model":"vendor/M-2026-11-01"`, 1)},
		"no tool may be called":             {body: echo(`"tool_choice":"none"`), want: onceward.BreachTools},
		"tools left out":                    {body: echo(`"tools":[]`), want: onceward.BreachTools},
		"tools in force":                    {body: echo(`"tools":[{"type":"function","name":"f"}],"tool_choice":"auto"`)},
		"input may be dropped":              {body: echo(`"truncation":"auto"`), want: onceward.BreachTruncation},
		"input may not be dropped":          {body: echo(`"truncation":"disabled"`)},
		"arguments against a strict schema": {body: whole(strings.Replace(callItem, `\"a\"`, `\"b\"`, 1), used10), want: onceward.BreachSchema},
		"an answer against a strict schema": {body: yes, want: onceward.BreachSchema, change: func(_ *Resource, req *onceward.ModelRequest) {
			req.Output = &onceward.OutputDecl{Name: "o", Schema: []byte(`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`)}
		}},
		"an answer that keeps its schema": {body: yes, change: func(_ *Resource, req *onceward.ModelRequest) {
			req.Output = &onceward.OutputDecl{Name: "o", Schema: []byte(`{"type":"object","properties":{"b":{}},"required":["b"],"additionalProperties":false}`)}
		}},
		"a format that is not the one asked for": {body: strings.Replace(yes, used10, used10+`,"text":{"format":{"type":"text"}}`, 1), want: onceward.BreachSchema, change: func(_ *Resource, req *onceward.ModelRequest) {
			req.Output = &onceward.OutputDecl{Name: "o", Schema: []byte(`{"type":"object"}`)}
		}},
		"reasoning without what was asked for": {body: whole(`{"type":"reasoning","id":"rs_1","summary":[]},`+textItem, used10), want: onceward.BreachReasoning},
		"a response that is not gone on from":  {body: echo(`"previous_response_id":null`), want: onceward.BreachState, change: func(_ *Resource, req *onceward.ModelRequest) { req.PreviousResponseID = "resp_0" }},
		"more answers than one": {chat: true, want: onceward.BreachChoices,
			body: strings.Replace(chatEnd(`{"role":"assistant","content":"hi"}`, "stop", chatUsed), `"choices":[`, `"choices":[{"index":1,"message":{"content":"no"},"finish_reason":"stop"},`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reply(200, "application/json", c.body))
			res := resource("a", s.URL)
			if c.chat {
				res = chatResource("a", s.URL)
			}
			res.Deployments[0].Capability.ParallelTools = false
			req := onceward.ModelRequest{}
			if c.change != nil {
				c.change(&res, &req)
			}
			r := pool(t, Config{}, res)
			full := routed(t, r, "a")
			full.Output, full.PreviousResponseID = req.Output, req.PreviousResponseID
			full.Tools = []onceward.ToolDecl{{Name: "f", Schema: []byte(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`)}}
			got := mustCall(t, r, full) // it is carried out all the same
			if kinds := breaches(got.Notices); kinds != string(c.want) {
				t.Errorf("noted %q, want %q: %q", kinds, c.want, got.Notices)
			}
		})
	}
}

func TestPromptThatWasCutInSilenceIsNoted(t *testing.T) {
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog, and nobody at the office minds. ", 50)
	for name, c := range map[string]struct {
		chat  bool
		input string
		read  string
		noted bool
	}{
		"E12 a window of 256 tokens":               {input: prose, read: "256", noted: true},
		"E12 a window of 256 tokens behind a chat": {chat: true, input: prose, read: "256", noted: true},
		"E12 a true count":                         {input: prose, read: "850"},
		"E12 a short prompt tells nothing":         {input: "hello", read: "1"},
		"E12 a run of blanks is few tokens":        {input: strings.Repeat(" ", 9000), read: "90"},
		"E12 escapes are one character each":       {input: strings.Repeat("<\u2028&", 400), read: "256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := whole(textItem, strings.Replace(used10, "50", c.read, 1))
			if c.chat {
				body = chatEnd(`{"role":"assistant","content":"hi"}`, "stop", strings.Replace(strings.Replace(chatUsed, "50", c.read, 1), `,"total_tokens":60`, "", 1))
			}
			body = strings.Replace(body, `,"total_tokens":60`, "", 1)
			s := serve(t, reply(200, "application/json", body))
			res := resource("a", s.URL)
			if c.chat {
				res = chatResource("a", s.URL)
			}
			r := pool(t, Config{}, res)
			req := routed(t, r, "a")
			req.Items = []onceward.Item{text(t, "user", c.input)}
			got := mustCall(t, r, req)
			if noted := breaches(got.Notices) == string(onceward.BreachInput); noted != c.noted {
				t.Errorf("noted %v: %q", noted, got.Notices)
			}
		})
	}
}

func TestUsageThatCannotBeCostsWhatWasReserved(t *testing.T) {
	ceiling := price.Ceiling(164, 1000)
	cost := func(in, cached, written, out int) onceward.MicroUSD {
		return price.Cost(onceward.Usage{InputTokens: in, CachedTokens: cached, CacheWriteTokens: written, OutputTokens: out})
	}
	for name, c := range map[string]struct {
		chat  bool
		usage string
		cost  onceward.MicroUSD
		basis onceward.CostBasis
		noted bool
	}{
		"E13 reasoning beside the output, which only the total knows":      {usage: `{"input_tokens":10120,"output_tokens":699,"output_tokens_details":{"reasoning_tokens":2809},"total_tokens":13628}`, cost: cost(10120, 0, 0, 3508), basis: onceward.CostMeasured, noted: true},
		"E13 reasoning beside the output of a chat, without a total":       {chat: true, usage: `{"prompt_tokens":100,"completion_tokens":699,"completion_tokens_details":{"reasoning_tokens":2809}}`, cost: cost(100, 0, 0, 3508), basis: onceward.CostMeasured, noted: true},
		"E13 more cached than read":                                        {usage: `{"input_tokens":1000,"input_tokens_details":{"cached_tokens":1200},"output_tokens":10}`, cost: cost(2200, 1200, 0, 10), basis: onceward.CostMeasured, noted: true},
		"E13 a total below its parts":                                      {usage: `{"input_tokens":1000,"output_tokens":100,"total_tokens":10}`, cost: cost(1000, 0, 0, 100), basis: onceward.CostMeasured, noted: true},
		"E13 tokens of 10^18":                                              {usage: `{"input_tokens":1000000000000000000,"output_tokens":10}`, cost: ceiling, basis: onceward.CostReserved, noted: true},
		"E13 more output than the deployment can make":                     {usage: `{"input_tokens":100,"output_tokens":10,"total_tokens":9000000}`, cost: ceiling, basis: onceward.CostReserved, noted: true},
		"E13 a total of 10^19":                                             {usage: `{"input_tokens":100,"output_tokens":10,"total_tokens":10000000000000000000}`, cost: ceiling, basis: onceward.CostReserved, noted: true},
		"E13 negative input":                                               {usage: `{"input_tokens":-100,"output_tokens":10}`, cost: ceiling, basis: onceward.CostReserved, noted: true},
		"E13 negative cached":                                              {usage: `{"input_tokens":100,"input_tokens_details":{"cached_tokens":-100},"output_tokens":10}`, cost: ceiling, basis: onceward.CostReserved, noted: true},
		"E13 half a count":                                                 {usage: `{"input_tokens":0,"output_tokens":10}`, cost: ceiling, basis: onceward.CostReserved, noted: true},
		"E13 cached beside read, under the names of an API that counts so": {usage: `{"input_tokens":3000,"cache_creation_input_tokens":1000,"cache_read_input_tokens":500,"output_tokens":5}`, cost: cost(4500, 500, 1000, 5), basis: onceward.CostMeasured, noted: true},
		"E13 the same with a total that counts them in":                    {usage: `{"input_tokens":3000,"cache_creation_input_tokens":1000,"cache_read_input_tokens":500,"output_tokens":5,"total_tokens":3005}`, cost: cost(3000, 500, 1000, 5), basis: onceward.CostMeasured},
		"E13 the same beside the names of chats":                           {chat: true, usage: `{"prompt_tokens":3000,"cache_creation_input_tokens":1000,"cache_read_input_tokens":500,"completion_tokens":5}`, cost: cost(3000, 500, 1000, 5), basis: onceward.CostMeasured},
		"E13 sound usage has no notice":                                    {usage: `{"input_tokens":100,"input_tokens_details":{"cached_tokens":40,"cache_write_tokens":60},"output_tokens":10,"total_tokens":110}`, cost: cost(100, 40, 60, 10), basis: onceward.CostMeasured},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := whole(textItem, `"usage":`+c.usage)
			if c.chat {
				body = chatEnd(`{"role":"assistant","content":"hi"}`, "stop", c.usage)
			}
			s := serve(t, reply(200, "application/json", body))
			res := resource("a", s.URL)
			if c.chat {
				res = chatResource("a", s.URL)
			}
			r := pool(t, Config{}, res)
			got := mustCall(t, r, routed(t, r, "a"))
			if got.Cost != c.cost || got.CostBasis != c.basis || (breaches(got.Notices) != "") != c.noted {
				t.Errorf("cost %d %s, want %d %s, notices %q", got.Cost, got.CostBasis, c.cost, c.basis, got.Notices)
			}
		})
	}
}

func TestNoticesOfOneAttemptAreBounded(t *testing.T) {
	var kinds []string
	for i := range 100 {
		kinds = append(kinds, `{"type":"mood`+strings.Repeat("x", i)+`","id":"x"}`)
	}
	s := serve(t, reply(200, "application/json", whole(textItem+","+strings.Join(kinds, ","), used10)))
	r := pool(t, Config{}, resource("a", s.URL))
	size := 0
	notices := mustCall(t, r, routed(t, r, "a")).Notices
	for _, n := range notices {
		size += len(n)
	}
	if len(notices) != maxBreaches || size > 2000 {
		t.Errorf("%d notices of %d bytes", len(notices), size)
	}
}
