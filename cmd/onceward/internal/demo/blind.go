package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/local"
	"github.com/onceward/onceward/cmd/onceward/internal/shape"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/classify"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/samples/refund/payments"
)

const (
	blindTimeout = time.Minute
	maxAnswer    = 4 << 20 // bytes
	// blindRetries end a turn that no member answers.
	blindRetries = 31
)

// blind is the client that people write first: it goes round the resources and
// tries the next one after any failure. Nothing of the product is in it. It is
// not safe for concurrent use.
type blind struct {
	members  []router.Resource
	payments *payments.Client
	http     *http.Client
	next     int // of the rotation, over all runs
}

func newBlind(members []router.Resource, p *payments.Client) *blind {
	return &blind{members: members, payments: p, http: &http.Client{Timeout: blindTimeout}}
}

// answer is what the client keeps of a response.
type answer struct {
	ID     string            `json:"id"`
	Output []json.RawMessage `json:"output"`
}

// call finds the function call that the model asks for.
func (a answer) call() (callID string, args refund.OrderArgs, err error) {
	for _, raw := range a.Output {
		var item struct {
			Type      string `json:"type"`
			CallID    string `json:"call_id"`
			Arguments string `json:"arguments"`
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			return "", args, fmt.Errorf("read item: %w", err)
		}
		if item.Type == "function_call" {
			return item.CallID, args, json.Unmarshal([]byte(item.Arguments), &args)
		}
	}
	return "", args, errors.New("the model asks for no tool")
}

// stored runs the agent with store=true: the second turn names the first one's
// response, which only the resource that gave it has.
func (b *blind) stored(ctx context.Context, request string) ([]shape.Turn, error) {
	first, asked, err := b.turn(ctx, fields(request))
	if err != nil {
		return nil, err
	}
	output, err := b.lookUp(ctx, first)
	if err != nil {
		return nil, err
	}
	second := fields("")
	second["input"], second["previous_response_id"] = []any{output}, first.ID
	_, again, err := b.turn(ctx, second)
	return []shape.Turn{asked, again}, err
}

// stateless runs the agents with store=false and the whole transcript each time.
// Their second turns come in another order than the first, as they do when many
// run at once.
func (b *blind) stateless(ctx context.Context, requests []string) error {
	seconds := make([]map[string]any, len(requests))
	for i, request := range requests {
		body := fields(request)
		body["store"] = false
		first, _, err := b.turn(ctx, body)
		if err != nil {
			return err
		}
		output, err := b.lookUp(ctx, first)
		if err != nil {
			return err
		}
		input := body["input"].([]any)
		for _, item := range first.Output {
			input = append(input, item)
		}
		body["input"] = append(input, output)
		seconds[i] = body
	}
	// A fixed seed: the story is the same each time.
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(seconds)) {
		if _, _, err := b.turn(ctx, seconds[i]); err != nil {
			return err
		}
	}
	return nil
}

// fields is the body of a request of the refund agent, with its reading tool.
func fields(request string) map[string]any {
	return map[string]any{
		"model": local.Model, "instructions": refund.Refunds.Instructions,
		"input": []any{map[string]any{"role": "user", "content": request}},
		"tools": []any{map[string]any{
			"type": "function", "name": "get_order", "description": "Read an order: its amount in cents and its status.", "strict": true,
			"parameters": map[string]any{
				"type": "object", "properties": map[string]any{"order_id": map[string]any{"type": "string"}},
				"required": []string{"order_id"}, "additionalProperties": false,
			},
		}},
	}
}

// lookUp carries out the call of an answer.
func (b *blind) lookUp(ctx context.Context, a answer) (map[string]any, error) {
	callID, args, err := a.call()
	if err != nil {
		return nil, err
	}
	order, err := b.payments.Order(ctx, args.OrderID)
	if err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("write order: %w", err)
	}
	return map[string]any{"type": "function_call_output", "call_id": callID, "output": string(text)}, nil
}

// turn asks one resource after the other until one answers.
func (b *blind) turn(ctx context.Context, body map[string]any) (answer, shape.Turn, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, nil, fmt.Errorf("write request: %w", err)
	}
	var asked shape.Turn
	for range blindRetries {
		to := b.members[b.next%len(b.members)]
		b.next++
		got, failure := b.ask(ctx, to, raw)
		asked = append(asked, shape.Request{Resource: to.Name, Class: failure})
		if failure == "" {
			return got, asked, nil
		}
		if err := ctx.Err(); err != nil {
			return answer{}, asked, err
		}
	}
	return answer{}, asked, fmt.Errorf("ask: no resource has answered after %d requests", blindRetries)
}

// ask makes one request and names what failed, empty for nothing.
func (b *blind) ask(ctx context.Context, to router.Resource, body []byte) (got answer, failure onceward.Class) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.BaseURL+"responses", bytes.NewReader(body))
	if err != nil {
		return got, onceward.ClassUnknown
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Api-Key", string(to.Key))
	res, err := b.http.Do(req)
	if err != nil {
		return got, onceward.ClassNetwork
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return got, onceward.ClassNetwork
	case res.StatusCode != http.StatusOK:
		in := classify.Input{Transport: classify.HTTP, Status: res.StatusCode, Header: res.Header, Body: raw, Now: time.Now()}
		return got, classify.Classify(in).Class
	case json.Unmarshal(raw, &got) != nil:
		return got, onceward.ClassInvalidOutput
	}
	return got, ""
}
