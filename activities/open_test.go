package activities

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// opened opens a run with some provider-side state.
func opened(t *testing.T, state *onceward.ProviderState, request string) (onceward.Opened, error) {
	t.Helper()
	agent := &Agent{Manifest: onceward.Manifest{Type: onceward.ItemManifest, Plan: onceward.Plan{Agent: "shop", Resources: []string{"a", "b"}}}}
	a := &Activities{agents: map[string]*Agent{"shop": agent}}
	return a.Open(t.Context(), onceward.OpenRequest{Agent: "shop", Request: json.RawMessage(request), State: state})
}

func many(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("file-%d", i))
	}
	return ids
}

func TestOpenRefusesStateThatNoRequestCanCarry(t *testing.T) {
	long := strings.Repeat("x", 257)
	for name, c := range map[string]struct {
		state onceward.ProviderState
		want  []string // parts of the error; none: it is taken
	}{
		"only an owner":                  {state: onceward.ProviderState{Resource: "a"}},
		"a response":                     {state: onceward.ProviderState{Resource: "a", PreviousResponseID: "resp_1"}},
		"a conversation":                 {state: onceward.ProviderState{Resource: "a", Conversation: "conv_1"}},
		"a conversation with files":      {state: onceward.ProviderState{Resource: "a", Conversation: "conv_1", Files: many(1)}},
		"as many files as there may be":  {state: onceward.ProviderState{Resource: "a", Files: many(onceward.MaxFiles)}},
		"an id as long as it may be":     {state: onceward.ProviderState{Resource: "a", Files: []string{long[:256]}}},
		"no owner":                       {onceward.ProviderState{Files: many(1)}, []string{"state.resource is empty"}},
		"an owner that the task has not": {onceward.ProviderState{Resource: "c", Files: many(1)}, []string{"state.resource", `"c"`}},
		"a response with a line break":   {onceward.ProviderState{Resource: "a", PreviousResponseID: "resp_1\n"}, []string{"state.previous_response_id", "0x0a"}},
		"a conversation and a response":  {onceward.ProviderState{Resource: "a", Conversation: "conv_1", PreviousResponseID: "resp_1"}, []string{"state.conversation", "state.previous_response_id"}},
		"one file too many":              {onceward.ProviderState{Resource: "a", Files: many(onceward.MaxFiles + 1)}, []string{"state.files has 21 ids, at most 20"}},
		"a file twice":                   {onceward.ProviderState{Resource: "a", Files: []string{"file-1", "file-2", "file-1"}}, []string{"state.files[2] repeats file-1"}},
		"a file without an id":           {onceward.ProviderState{Resource: "a", Files: []string{"file-1", ""}}, []string{"state.files[1] has 0 bytes, want 1 to 256"}},
		"a file with a long id":          {onceward.ProviderState{Resource: "a", Files: []string{long}}, []string{"state.files[0] has 257 bytes"}},
		"a file with a space":            {onceward.ProviderState{Resource: "a", Files: []string{"file 1"}}, []string{"state.files[0] holds the byte 0x20"}},
		"a file with a line end":         {onceward.ProviderState{Resource: "a", Files: []string{"file\n"}}, []string{"state.files[0] holds the byte 0x0a"}},
		"a file in other letters":        {onceward.ProviderState{Resource: "a", Files: []string{"fıle"}}, []string{"state.files[0] holds the byte 0xc4"}},
		"a conversation with a space":    {onceward.ProviderState{Resource: "a", Conversation: "conv 1"}, []string{"state.conversation holds the byte 0x20"}},
		"a conversation with a long id":  {onceward.ProviderState{Resource: "a", Conversation: long}, []string{"state.conversation has 257 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := opened(t, &c.state, `"hi"`)
			if (err == nil) != (c.want == nil) {
				t.Fatal(err)
			}
			var refused *temporal.ApplicationError
			for _, part := range c.want {
				if !errors.As(err, &refused) || refused.Type() != onceward.ErrorInvalidStart || !refused.NonRetryable() || !strings.Contains(refused.Message(), part) {
					t.Errorf("%v, want %s with %q", err, onceward.ErrorInvalidStart, part)
				}
			}
		})
	}
}

func TestFilesStandAfterTheTextOfTheFirstMessage(t *testing.T) {
	state := &onceward.ProviderState{Resource: "a", Files: []string{"file-2", "file-1"}}
	got, err := opened(t, state, `"Read these."`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"content":[{"text":"Read these.","type":"input_text"},{"file_id":"file-2","type":"input_file"},{"file_id":"file-1","type":"input_file"}],"role":"user","type":"message"}`
	if len(got.Items) != 2 || string(got.Items[1].Raw) != want || got.Items[1].Type != "message" {
		t.Errorf("items %s", got.Items[1].Raw)
	}
	if _, err := opened(t, state, `""`); err == nil {
		t.Error("a run about files alone was taken: it has no question")
	}
	plain, err := opened(t, &onceward.ProviderState{Resource: "a"}, `"Read these."`)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := onceward.Text("user", "Read these."); string(plain.Items[1].Raw) != string(text.Raw) {
		t.Errorf("without files the message is %s", plain.Items[1].Raw)
	}
}

func TestOpenWritesDownForWhomARunWorks(t *testing.T) {
	day := time.Date(2026, 3, 4, 1, 0, 0, 0, time.FixedZone("", 7200))
	for name, c := range map[string]struct {
		caller  onceward.Caller
		version int
		refused string
	}{
		"nobody in particular":       {version: 2},
		"a tenant and a user":        {caller: onceward.Caller{Tenant: "acme", User: "Ünal Ğ."}, version: 3},
		"a slot":                     {caller: onceward.Caller{Slot: day}, version: 3},
		"as long as it may be":       {caller: onceward.Caller{Tenant: strings.Repeat("x", onceward.MaxCaller)}, version: 3},
		"a tenant that is too long":  {caller: onceward.Caller{Tenant: strings.Repeat("x", onceward.MaxCaller+1)}, refused: "tenant has 201 bytes, at most 200"},
		"a user of two lines":        {caller: onceward.Caller{User: "ann\nbob"}, refused: "user"},
		"a tenant with a tab":        {caller: onceward.Caller{Tenant: "a\tb"}, refused: "tenant"},
		"a user that turns the text": {caller: onceward.Caller{User: "ann\u202e"}, refused: "user"},
		"a tenant that is not UTF-8": {caller: onceward.Caller{Tenant: "a\xff"}, refused: "tenant is not UTF-8"},
		"a slot after all time":      {caller: onceward.Caller{Slot: time.Date(10000, 1, 2, 0, 0, 0, 0, time.UTC)}, refused: "slot is in the year 10000"},
	} {
		agent := &Agent{Manifest: onceward.Manifest{Type: onceward.ItemManifest, Plan: onceward.Plan{Agent: "shop"}}}
		a := &Activities{agents: map[string]*Agent{"shop": agent}}
		got, err := a.Open(t.Context(), onceward.OpenRequest{Agent: "shop", Request: json.RawMessage(`"hi"`), Tenant: c.caller.Tenant, User: c.caller.User, Slot: c.caller.Slot})
		var refused *temporal.ApplicationError
		switch {
		case c.refused != "":
			if !errors.As(err, &refused) || refused.Type() != onceward.ErrorInvalidStart || !strings.Contains(refused.Message(), c.refused) {
				t.Errorf("%s: %v, want %s with %q", name, err, onceward.ErrorInvalidStart, c.refused)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case got.Plan.Caller() != onceward.Caller{Tenant: c.caller.Tenant, User: c.caller.User, Slot: c.caller.Slot.UTC()} || got.Plan.Version != c.version:
			t.Errorf("%s: the plan is of version %d for %+v", name, got.Plan.Version, got.Plan.Caller())
		}
	}
}
