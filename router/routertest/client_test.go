package routertest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/onceward/onceward/router/routertest"
)

// The official client is the judge here: what it cannot read is not the wire format.

func openaiClient(p *routertest.Pool, name string) openai.Client {
	return openai.NewClient(option.WithBaseURL(p.Resource(name).URL()), option.WithAPIKey("k"), option.WithMaxRetries(0), option.WithHTTPClient(client))
}

func openaiParams(input responses.ResponseInputParam) responses.ResponseNewParams {
	fn := func(name string) responses.ToolUnionParam {
		return responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: name, Strict: openai.Bool(true),
			Parameters: map[string]any{"type": "object", "properties": map[string]any{}, "required": []string{}, "additionalProperties": false},
		}}
	}
	return responses.ResponseNewParams{
		Model: "m", Store: openai.Bool(false), Instructions: openai.String("Refund at most once."),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Tools:   []responses.ToolUnionParam{fn("get_order"), fn("create_refund")},
		Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: input},
	}
}

// play runs the refund story to its text with ask as the transport of a turn.
func play(t *testing.T, ask func(responses.ResponseNewParams) *responses.Response) string {
	t.Helper()
	outputs := map[string]string{
		"get_order":     `{"order_id":"order-1842","amount_cents":12999}`,
		"create_refund": `{"status":"committed","ref":"re_1"}`,
	}
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("refund order-1842", responses.EasyInputMessageRoleUser)}
	var called []string
	for range 3 {
		r := ask(openaiParams(input))
		if r.Status != responses.ResponseStatusCompleted || r.Usage.TotalTokens == 0 {
			t.Fatalf("status %s, usage %+v", r.Status, r.Usage)
		}
		if text := r.OutputText(); text != "" {
			if len(called) != 2 || called[0] != "get_order" || called[1] != "create_refund" {
				t.Errorf("called %v", called)
			}
			return text
		}
		for _, it := range r.Output {
			input = append(input, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(it.RawJSON())))
			if call, ok := it.AsAny().(responses.ResponseFunctionToolCall); ok {
				called = append(called, call.Name)
				out := responses.ResponseInputItemParamOfFunctionCallOutput(outputs[call.Name])
				out.OfFunctionCallOutput.CallID = param.NewOpt(call.CallID)
				input = append(input, out)
			}
		}
	}
	t.Fatalf("no text after three turns, called %v", called)
	return ""
}

const refunded = "The refund of order-1842 has status committed, reference re_1."

func TestOpenAIClientPlaysTheStoryInJSON(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.RefundModel(), routertest.Resource{Name: "A", Key: "k"})
	c := openaiClient(p, "A")
	text := play(t, func(in responses.ResponseNewParams) *responses.Response {
		r, err := c.Responses.New(within(t), in)
		if err != nil {
			t.Fatal(err)
		}
		return r
	})
	if text != refunded || p.Attempts() != 3 {
		t.Errorf("%q after %d attempts", text, p.Attempts())
	}
}

func TestOpenAIClientPlaysTheStoryInStreams(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.RefundModel(), routertest.Resource{Name: "A", Key: "k"})
	c := openaiClient(p, "A")
	text := play(t, func(in responses.ResponseNewParams) *responses.Response {
		s := c.Responses.NewStreaming(within(t), in)
		defer s.Close()
		var final *responses.Response
		for s.Next() {
			e := s.Current()
			if e.AsAny() == nil {
				t.Errorf("the client does not know event %q", e.Type)
			}
			if done, ok := e.AsAny().(responses.ResponseCompletedEvent); ok {
				final = &done.Response
			}
		}
		if s.Err() != nil || final == nil {
			t.Fatalf("stream ended with %v, response %v", s.Err(), final)
		}
		return final
	})
	if text != refunded || p.Attempts() != 3 {
		t.Errorf("%q after %d attempts", text, p.Attempts())
	}
}

func TestOpenAIClientReadsErrors(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.RefundModel())
	c := openaiClient(p, "A")
	in := openaiParams(responses.ResponseInputParam{responses.ResponseInputItemParamOfFunctionCall("{}", "call_x", "get_order")})
	_, err := c.Responses.New(within(t), in)
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != 400 || e.Message != "No tool output found for function call call_x." {
		t.Errorf("%v", err)
	}
	if err := p.SetFaults(routertest.Fault{Kind: routertest.FaultFailed, Code: "server_error"}); err != nil {
		t.Fatal(err)
	}
	s := c.Responses.NewStreaming(within(t), openaiParams(responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("hi", responses.EasyInputMessageRoleUser)}))
	defer s.Close()
	var failed bool
	for s.Next() {
		if e, ok := s.Current().AsAny().(responses.ResponseFailedEvent); ok {
			failed = e.Response.Error.Code == responses.ResponseErrorCodeServerError
		}
	}
	if !failed {
		t.Errorf("no response.failed, stream ended with %v", s.Err())
	}
}
