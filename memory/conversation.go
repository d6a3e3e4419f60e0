package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Conversation attaches a thread to an agent task: what was said in it before stands in the agent's window, and the task's
// prompt and answer are appended when it has succeeded, with its frame. It is an attachment: With: cairn.With{…}.
type Conversation struct {
	// Thread is the thread's id, Namespace whose it is; both are required. A thread that is not there yet begins with the
	// task.
	Thread    string
	Namespace Namespace
	// Bank and Tags are those of a thread that is made: its messages are recalled from that bank.
	Bank string
	Tags []string
	// MaxTokens bounds what is loaded, the newest messages first, by four bytes a token; a call is never parted from its
	// result. 0 is 8000.
	MaxTokens int
}

// DefaultConversation is how many tokens of a thread are loaded.
const DefaultConversation = 8000

// conversationFeature is the name of a Conversation among a task's attachments.
const conversationFeature = "memory.conversation"

// AppendKind is the kind of the effects by which a conversation grows.
const AppendKind = "memory.append"

// talk is a Conversation as data.
type talk struct {
	Thread    Thread `json:"thread"`
	MaxTokens int    `json:"maxTokens,omitempty"`
}

func (c Conversation) talk() talk {
	return talk{Thread{Place: Place{Namespace: c.Namespace, Bank: c.Bank, Tags: c.Tags}, ID: c.Thread}, c.MaxTokens}
}

// Attach makes a Conversation an attachment.
func (c Conversation) Attach() (feature string, config any) { return conversationFeature, c.talk() }

// Check says what is wrong with it on a task.
func (c Conversation) Check(t *cairn.TaskSpec) error {
	var errs []error
	if _, err := c.talk().Thread.Resolve(); err != nil {
		errs = append(errs, err)
	}
	if err := CheckTags(c.Tags); err != nil {
		errs = append(errs, err)
	}
	if c.MaxTokens < 0 {
		errs = append(errs, fmt.Errorf("MaxTokens is %d: it bounds what is loaded, and 0 is %d", c.MaxTokens, DefaultConversation))
	}
	if !t.Prompted {
		errs = append(errs, errors.New("a conversation is an agent's: the task has no Prompt"))
	}
	if t.Fork != "" {
		errs = append(errs, fmt.Errorf("the task forks %q, and can't begin with two conversations: remove Fork or the Conversation", t.Fork))
	}
	return errors.Join(errs...)
}

// history is what was said before, frozen for all attempts of the task. A thread that can't be read is an error: an agent
// that has forgotten the conversation gives wrong answers, not fewer.
func (r *Runtime) history(ctx context.Context, call *cairn.Call, t talk) (said []cairn.Message, err error) {
	const name = "memory.conversation"
	if call.Journal != nil {
		if raw, ok := call.Journal.Lookup(name); ok {
			return said, json.Unmarshal(raw, &said)
		}
	}
	tokens := t.MaxTokens
	if tokens == 0 {
		tokens = DefaultConversation
	}
	messages, err := r.Store.Messages(ctx, t.Thread.Namespace, t.Thread.ID, Window{Tokens: tokens, KeepSystem: true}, 0)
	if err != nil && !errors.Is(err, NotFound) {
		return nil, err
	}
	said = []cairn.Message{}
	for _, m := range messages {
		said = append(said, cairn.Message{Role: string(m.Role), Content: m.Content, Data: m.Data})
	}
	if call.Journal == nil {
		return said, nil
	}
	raw, err := schema.Encode(said)
	if err == nil {
		err = call.Journal.Record(ctx, name, raw)
	}
	return said, err
}

// turn is the effect by which what was asked and answered goes into the thread.
func turn(call *cairn.Call, t talk, output json.RawMessage) (cairn.Effect, error) {
	origin := Origin{Run: call.Run, Path: call.Path, Attempt: call.Attempt}
	var prompt string
	if err := json.Unmarshal(call.Input, &prompt); err != nil {
		return cairn.Effect{}, fmt.Errorf("memory: the task's stored prompt can't be read: %w", err)
	}
	answer := string(output)
	var text string
	if json.Unmarshal(output, &text) == nil {
		answer = text
	}
	op := Operation{Thread: &t.Thread, Turns: []Message{
		{ID: named(call.IdempotencyKey + "#asked"), Role: User, Content: prompt, Origin: origin},
		{ID: named(call.IdempotencyKey + "#answered"), Role: Assistant, Content: answer, Origin: origin},
	}}
	body, err := schema.Encode(op)
	return cairn.Effect{Kind: AppendKind, Body: body}, err
}
