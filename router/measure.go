package router

import (
	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// measure says what was wrong with the usage of an answer, and does not believe
// what cannot be.
func (a *attempt) measure(answer wire.Answer) {
	for _, note := range answer.UsageNotes {
		a.breach(onceward.BreachUsage, "%s", note)
	}
	usage := &a.response.Usage
	input, output := a.most()
	if usage.InputTokens > input || usage.OutputTokens > output {
		// Believed, one such answer would use up the budget of a run.
		a.breach(onceward.BreachUsage, "%d of input and %d of output are more than %s can use here, %d and %d: it costs what was reserved",
			usage.InputTokens, usage.OutputTokens, a.candidate.Deployment, input, output)
		*usage = onceward.Usage{}
		return
	}
	if read := usage.InputTokens; usage.Known {
		if least := leastTokens(a.body, read); read < least {
			a.breach(onceward.BreachInput, "%d were read of a prompt of at least %d; max_input_tokens says %d, and the prompt may have been cut",
				read, least, a.candidate.Capability.MaxInputTokens)
		}
	}
}

// most returns how many tokens an attempt can use at all: what the deployment is
// declared to take and to make, or a generous multiple of what was sent where the
// declaration is lower.
func (a *attempt) most() (input, output int) {
	c := a.candidate.Capability
	return max(c.MaxInputTokens, 2*len(a.body)+4096), max(c.MaxOutputTokens, 4*a.limit)
}

// charsPerToken is more than any common tokenizer gets out of running text.
const charsPerToken = 6

// leastPrompt is the shortest prompt, in tokens, that is looked at: below it the
// counts are too small to tell anything.
const leastPrompt = 128

// leastTokens returns how many tokens the texts of a request body must have at
// least, 0 where read is surely enough or the prompt is too short to tell. Texts in
// other scripts, code and markup have more tokens for their length than running
// text, so that it rarely says too much; what a host counts otherwise, such as
// pictures and encrypted reasoning, is left out, and so are repetitions.
func leastTokens(body []byte, read int) int {
	if read*charsPerToken >= len(body) {
		return 0
	}
	least := textLength(body) / charsPerToken
	if least < leastPrompt {
		return 0
	}
	return least
}

// textLength counts the characters of the strings of a JSON text, without keys,
// escapes, identifiers and data.
func textLength(body []byte) int {
	total, key := 0, ""
	for i := 0; i < len(body); i++ {
		if body[i] != '"' {
			continue
		}
		begin := i + 1
		n := 0
		last := byte(0)
		for i++; i < len(body) && body[i] != '"'; i++ {
			c := body[i]
			if c == '\\' {
				if i++; i < len(body) && body[i] == 'u' {
					i += 4
				}
				c = ' '
			}
			if c != last {
				n++
			}
			last = c
		}
		if i+1 < len(body) && body[i+1] == ':' {
			key = string(body[begin:min(i, begin+40)])
			continue
		}
		if !noText[key] {
			total += n
		}
	}
	return total
}

// noText are the keys whose values a host does not read as text.
var noText = map[string]bool{
	"encrypted_content": true, "id": true, "call_id": true, "tool_call_id": true, "image_url": true, "file_data": true, "url": true,
	"data": true, "prompt_cache_key": true, "model": true, "previous_response_id": true, "conversation": true, "type": true, "role": true,
}
