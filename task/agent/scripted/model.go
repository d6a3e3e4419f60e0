package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Model is a loop.Model with a script. Which turn comes it reads from the window alone, so a process that resumes a conversation
// goes on where the one before was. It is safe for concurrent use, must not be copied, and its fields must not be changed
// after its first use.
type Model struct {
	// Turns are given first in each conversation, one after another.
	Turns []Turn
	// Rules come after those: the first one that matches and has a turn left decides.
	Rules []TurnRule
	// Answer is asked where no rule decides.
	Answer func(w loop.Window) Turn
	// Auto answers where nobody else does: with a value of the schema, where the window has one, or with a text that says back
	// the beginning of the last message. It calls no tools. A refused answer is mended as the refusal says.
	Auto bool

	// Name is the model's, for usage and prices. Defaults to "scripted". Provider defaults to it as well.
	Name, Provider string
	// Size is how many tokens the window has; 0 is unknown. A call with more is CONTEXT_FULL.
	Size int
	// Native says that the provider holds answers to a schema: the window has it apart, and not in its first message.
	Native bool
	// Cache are the rules of the provider's prompt cache, which the Model then acts as: calls read the longest prefix that an
	// earlier call on this value has written, in any conversation. The zero value caches nothing.
	//
	// Where Marks is 0, every call reads the longest prefix it has in common with an earlier one, block by block, and nothing is
	// told as written. Otherwise prefixes are written at the marks of a call, and found at most Lookback blocks before one of
	// them. What is below Minimum tokens is neither written nor read. An entry is gone when it was not used for Life, or Long
	// where the mark asks for it; a Life of 0 never ends. More marks than allowed are refused, as MODEL_REQUEST.
	Cache window.Rules
	// Variant names what Answer and the When of rules do. With such functions the Model has an identity only if it is set.
	Variant string

	mu      sync.Mutex // guards what follows
	windows []loop.Window
	fails   map[string]int
	cache   prefixes
}

// Turn is what a Model says at once: the thinking first, then the text, then calls of tools.
type Turn struct {
	Thinking, Text string
	// Calls are made side by side.
	Calls []Call
	// Blocks, if not nil, stand in the place of all those.
	Blocks []window.Block
	// Stop is loop.StopEnd by default. Why goes with a refusal.
	Stop loop.Stop
	Why  string
	// Fails are the errors of the first calls for this turn, which then comes. They are counted by the Window's Key, in this process.
	Fails []error
	// Err fails all calls for it.
	Err error
	// Usage is what the call is said to have used. Nil is counted, for calls that do not fail; empty is nothing.
	Usage []cairn.Usage
	// Delay passes before all of it, unless the context ends sooner.
	Delay time.Duration
}

// Call is a call of a tool.
type Call struct {
	Name string
	// Input is encoded as JSON; nil is an object without fields.
	Input any
	// Text, if not "", is sent in the place of Input, as a model does that writes no JSON.
	Text string
	// ID ties the result to the call. By default it is made of the number of the turn and that of the call.
	ID string
}

// TurnRule says which turns come in some windows. All of its conditions that are set have to hold; without any it is for all.
type TurnRule struct {
	// Contains is in a text that the user has said, such as the prompt, in any message.
	Contains string
	// Result is in the result of a tool in the last message. Tool is a tool that has one there.
	Result, Tool string
	// When decides by all of the window. To count turns it is asked about windows that end earlier, too.
	When func(w loop.Window) bool
	// Turns are given one after another, in each conversation from the first. A rule that has none left no longer matches.
	Turns []Turn
	// Repeat gives the last turn again and again.
	Repeat bool
}

// Info describes the model.
func (m *Model) Info() loop.Info {
	return loop.Info{Provider: m.provider(), Models: []string{m.name()}, Identity: m.identity(), Window: m.Size, Cache: m.Cache}
}

func (m *Model) name() string {
	if m.Name == "" {
		return "scripted"
	}
	return m.Name
}

func (m *Model) provider() string {
	if m.Provider == "" {
		return "scripted"
	}
	return m.Provider
}

// Structures says whether the schema is to be in the window apart.
func (m *Model) Structures(json.RawMessage) bool { return m.Native }

// Windows are those of all calls so far, in order, without their Observe.
func (m *Model) Windows() []loop.Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.windows)
}

// Call gives the window's turn.
func (m *Model) Call(ctx context.Context, w loop.Window) (loop.Turn, error) {
	seen := w
	seen.Observe = nil
	m.mu.Lock()
	m.windows = append(m.windows, seen)
	m.mu.Unlock()
	said, n, err := m.next(seen)
	if err != nil {
		return loop.Turn{}, err
	}
	if err := wait(ctx, said.Delay); err != nil {
		return loop.Turn{}, err
	}
	if err := m.failing(said, w.Key); err != nil {
		return loop.Turn{Usage: said.Usage}, err
	}
	blocks, err := said.blocks(n, m.provider())
	if err != nil {
		return loop.Turn{}, err
	}
	turn := loop.Turn{Blocks: blocks, Stop: said.Stop, Why: said.Why, Usage: slices.Clone(said.Usage), Request: fmt.Sprintf("scripted-%d", n)}
	if turn.Stop == "" {
		turn.Stop = loop.StopEnd
	}
	counted, err := m.count(w, blocks)
	if err != nil {
		return loop.Turn{}, err
	}
	if said.Usage == nil {
		turn.Usage = []cairn.Usage{counted}
	}
	show(blocks, w.Observe)
	return turn, nil
}

// show tells an observer what a stream would have.
func show(blocks []window.Block, observe func(loop.Event)) {
	if observe == nil {
		return
	}
	for _, b := range blocks {
		switch b.Kind {
		case window.Text:
			observe(loop.Event{Kind: loop.TextDelta, Text: b.Text})
		case window.Thinking:
			observe(loop.Event{Kind: loop.ThinkingDelta, Text: b.Text})
		case window.ToolUse:
			observe(loop.Event{Kind: loop.ToolNamed, Name: b.Name, ID: b.ID})
		}
	}
}

// failing is the error of this call for the turn.
func (m *Model) failing(t Turn, key string) error {
	if t.Err != nil || len(t.Fails) == 0 {
		return t.Err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails == nil {
		m.fails = map[string]int{}
	}
	n := m.fails[key]
	if n >= len(t.Fails) {
		return nil
	}
	m.fails[key]++
	return t.Fails[n]
}

// next is the turn for a window, and its number in the conversation, from 1.
func (m *Model) next(w loop.Window) (Turn, int, error) {
	rules := append([]TurnRule{{Turns: m.Turns}}, m.Rules...)
	given := make([]int, len(rules))
	n := 1
	for i, message := range w.Messages {
		if message.Role != window.Assistant {
			continue
		}
		n++
		before := w
		before.Messages = w.Messages[:i:i]
		if rule, _ := match(rules, given, before); rule >= 0 {
			given[rule]++
		}
	}
	if rule, turn := match(rules, given, w); rule >= 0 {
		return turn, n, nil
	}
	switch {
	case m.Answer != nil:
		return m.Answer(w), n, nil
	case m.Auto:
		turn, err := auto(w)
		return turn, n, err
	}
	return Turn{}, n, task.Permanent(fmt.Errorf("scripted: there is no turn %d in the script of the model %s; the last message begins %.80q",
		n, m.name(), lastText(w)))
}

// match is the rule that decides, and its turn; -1 is none.
func match(rules []TurnRule, given []int, w loop.Window) (int, Turn) {
	for i, r := range rules {
		if turn, ok := pick(r.Turns, given[i], r.Repeat); ok && r.matches(w) {
			return i, turn
		}
	}
	return -1, Turn{}
}

func (r TurnRule) matches(w loop.Window) bool {
	return (r.Contains == "" || asked(w, r.Contains)) && (r.Result == "" && r.Tool == "" || resulted(w, r.Tool, r.Result)) && (r.When == nil || r.When(w))
}

// asked says whether the user has said something with this part in it.
func asked(w loop.Window, part string) bool {
	return slices.ContainsFunc(w.Messages, func(m window.Message) bool {
		return m.Role == window.User && slices.ContainsFunc(m.Blocks, func(b window.Block) bool { return b.Kind == window.Text && strings.Contains(b.Text, part) })
	})
}

// resulted says whether the last message has such a result.
func resulted(w loop.Window, tool, part string) bool {
	return slices.ContainsFunc(Results(w), func(b window.Block) bool { return (tool == "" || b.Name == tool) && strings.Contains(b.Text, part) })
}

// Results are those of tools in the last message of a window.
func Results(w loop.Window) (results []window.Block) {
	if len(w.Messages) == 0 {
		return nil
	}
	for _, b := range w.Messages[len(w.Messages)-1].Blocks {
		if b.Kind == window.ToolResult {
			results = append(results, b)
		}
	}
	return results
}

// blocks are those of the n-th turn of a conversation.
func (t Turn) blocks(n int, provider string) ([]window.Block, error) {
	if t.Blocks != nil {
		return slices.Clone(t.Blocks), nil
	}
	var blocks []window.Block
	if t.Thinking != "" {
		blocks = append(blocks, window.Block{Kind: window.Thinking, Text: t.Thinking, Provider: provider})
	}
	if t.Text != "" {
		blocks = append(blocks, window.Block{Kind: window.Text, Text: t.Text})
	}
	for i, c := range t.Calls {
		b := window.Block{Kind: window.ToolUse, ID: c.ID, Name: c.Name, Text: c.Text}
		if b.ID == "" {
			b.ID = fmt.Sprintf("call_%d_%d", n, i+1)
		}
		if c.Text == "" {
			b.Input = json.RawMessage("{}")
			if c.Input != nil {
				raw, err := schema.Encode(c.Input)
				if err != nil {
					return nil, task.Permanent(fmt.Errorf("scripted: encode what %s is called with: %w", c.Name, err))
				}
				b.Input = raw
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// refused begins what the loop says about an answer that does not fit.
const refused = "Your answer is refused: "

// auto makes an answer. What was wrong with those before it, in the same conversation, the user has said: the same answers are
// made again until there is one of which nothing is said.
func auto(w loop.Window) (Turn, error) {
	of := w.Schema
	var refusals []string
	for _, m := range w.Messages {
		for _, b := range m.Blocks {
			if m.Role != window.User || b.Kind != window.Text {
				continue
			}
			if _, in, ok := strings.Cut(b.Text, "<output_schema>\n"); ok && of == nil {
				in, _, _ = strings.Cut(in, "\n</output_schema>")
				of = json.RawMessage(in)
			}
			if said, ok := strings.CutPrefix(b.Text, refused); ok {
				said, _, _ = strings.Cut(said, "\n")
				refusals = append(refusals, said)
			}
		}
	}
	if of == nil {
		return Turn{Text: "An answer to: " + grapheme.Cut(strings.TrimSpace(lastText(w)), 200)}, nil
	}
	value, err := Sample(of, func(json.RawMessage) error {
		if len(refusals) == 0 {
			return nil
		}
		said := refusals[0]
		refusals = refusals[1:]
		return fmt.Errorf("%s", said)
	})
	return Turn{Text: string(value)}, err
}

// lastText is the first text of the last message that has one.
func lastText(w loop.Window) string {
	for _, m := range slices.Backward(w.Messages) {
		for _, b := range m.Blocks {
			if b.Text != "" {
				return b.Text
			}
		}
	}
	return ""
}
