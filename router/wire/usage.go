package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/onceward/onceward"
)

// maxTokens is more than any attempt can use. A number beyond it is a fault of
// the host, and sums of such numbers wrap around.
const maxTokens = 1_000_000_000

// usage is what a host says that it counted. Gateways mix the names of several
// APIs; where one thing has two numbers the larger counts.
type usage struct {
	input, output, total       int
	cached, written, reasoning int
	stated                     bool // there is a count of input or output
	apart                      bool // the names are of an API whose input is without what the cache holds
	chat                       bool // a name is of chat completions
	wrong                      string
}

// names of the counts, at the top of a usage object and in the objects of details
// inside it.
func (u *usage) named(key []byte, inside bool) *int {
	switch string(key) {
	case "cached_tokens", "cache_read_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens":
		return &u.cached
	case "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens", "cache_write_input_tokens":
		return &u.written
	case "reasoning_tokens", "thinking_tokens":
		return &u.reasoning
	}
	if inside {
		return nil
	}
	switch string(key) {
	case "input_tokens", "prompt_tokens":
		return &u.input
	case "output_tokens", "completion_tokens":
		return &u.output
	case "total_tokens":
		return &u.total
	}
	return nil
}

func (u *usage) read(raw []byte, inside bool) {
	members(raw, func(key, value []byte) bool {
		if !inside && bytes.HasSuffix(key, details) && len(value) > 0 && value[0] == '{' {
			u.read(value, true)
			return true
		}
		to := u.named(key, inside)
		if to == nil || string(value) == "null" {
			return true
		}
		n, ok := wholeNumber(value)
		if !ok {
			u.wrong = fmt.Sprintf("%s is %s", key, onceward.Cut(string(value), 40))
			return true
		}
		u.apart = u.apart || !inside && n > 0 && bytes.HasPrefix(key, cacheOf) && bytes.HasSuffix(key, inputTokens)
		u.chat = u.chat || bytes.HasPrefix(key, promptOf)
		u.stated = u.stated || to == &u.input || to == &u.output
		*to = max(*to, n)
		return true
	})
}

var (
	details     = []byte("_details")
	cacheOf     = []byte("cache_")
	inputTokens = []byte("_input_tokens")
	promptOf    = []byte("prompt_")
)

// wholeNumber reads a count of tokens. Some hosts write 12.0, some "12"; what is
// negative, broken or too large for anything is none.
func wholeNumber(value []byte) (int, bool) {
	var small int
	if value[0] != 'n' && setCount(&small, value) {
		return small, true
	}
	s := string(bytes.Trim(value, `"`))
	n, err := strconv.Atoi(s)
	if err != nil {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f <= maxTokens) || f != float64(int(f)) {
			return 0, false
		}
		n = int(f)
	}
	return n, n >= 0 && n <= maxTokens
}

// settle turns counts into usage. Where they contradict each other the dearer
// reading wins, because what was billed must not be counted too low, and the note
// says so. Absent, broken and all-zero usage is unknown: hosts send zeros where
// they did not count.
func (u usage) settle() (onceward.Usage, []string) {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if u.wrong != "" {
		note("%s, which is no count of tokens: it costs what was reserved", u.wrong)
		return onceward.Usage{}, notes
	}
	if u.input == 0 && u.output == 0 {
		if u.stated {
			note("all counts are 0: it costs what was reserved")
		}
		return onceward.Usage{}, notes
	}
	input, output := u.input, u.output
	beside := u.total - input - output // what only the total knows
	switch {
	case u.reasoning > output:
		note("%d reasoning tokens are not part of %d output tokens: both are counted", u.reasoning, output)
		output = max(output+u.reasoning, u.total-input)
	case u.total == 0 || beside == 0:
	case beside < 0:
		note("the total of %d is less than its parts, %d and %d: the parts are counted", u.total, input, output)
	case beside == u.reasoning:
		note("the total has %d reasoning tokens beside %d of output: both are counted", u.reasoning, output)
		output += beside
	case beside == u.cached+u.written, beside == u.cached, beside == u.written:
		note("the total has %d tokens of the prompt cache beside %d of input: both are counted", beside, input)
		input += beside
	default:
		note("the total has %d tokens more than input and output: they are counted as output", beside)
		output += beside
	}
	cached, written := u.cached, u.written
	switch {
	case cached > input || written > input:
		note("%d cached and %d written tokens are not part of %d input tokens: all are counted", cached, written, input)
		input += cached + written
	case u.apart && !u.chat && u.total == 0:
		note("%d cached and %d written tokens may be beside %d input tokens, under these names: all are counted", cached, written, input)
		input += cached + written
	case cached+written > input:
		note("%d cached and %d written tokens are more than %d of input: fewer are taken for cached", cached, written, input)
		cached = input - written
	}
	return onceward.Usage{
		Known: true, InputTokens: input, CachedTokens: cached, CacheWriteTokens: written,
		OutputTokens: output, ReasoningTokens: u.reasoning,
	}, notes
}

// readUsage reads valid JSON; what is no object says nothing.
func readUsage(raw json.RawMessage) (u usage) {
	if raw[0] == '{' {
		u.read(raw, false)
	}
	return u
}

// zero reports counts that are there, and know of no output. A gateway can count
// the input by itself.
func (u usage) zero() bool { return u.stated && u.made() == 0 && u.reasoning == 0 && u.wrong == "" }

// made returns the output tokens as the host wrote them: where it leaves them out,
// what its total has beside the input.
func (u usage) made() int {
	if u.output == 0 {
		return max(0, u.total-u.input-u.cached-u.written)
	}
	return u.output
}

// Uncounted reports a usage object that knows of no output.
func Uncounted(raw json.RawMessage) bool { return !empty(raw) && readUsage(raw).zero() }

// count sets the usage of an answer.
func (a *Answer) count(raw json.RawMessage) {
	if empty(raw) {
		return
	}
	u := readUsage(raw)
	a.Stated, a.Zero = u.made(), u.zero()
	a.Usage, a.UsageNotes = u.settle()
	if in, out := a.Usage.InputTokens, a.Usage.OutputTokens; a.Usage.Known && (in == 0 || out == 0 && len(a.Items) > 0) {
		a.Usage.Known = false
		a.UsageNotes = append(a.UsageNotes, fmt.Sprintf("half a count, %d of input and %d of output: it costs what was reserved", in, out))
	}
}
