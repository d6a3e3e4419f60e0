package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// prompted is the window of a call as prompt --json shows it.
type prompted struct {
	Run  string `json:"run"`
	Path string `json:"path"`
	// Conversation is its name in the journal; it is number Of those that the task has held. Within names the call of a tool that
	// it is part of, if it is.
	Conversation string `json:"conversation"`
	Within       string `json:"within,omitempty"`
	Number       int    `json:"number"`
	Of           int    `json:"of"`
	Call         int    `json:"call"`
	Calls        int    `json:"calls"`
	Attempt      int    `json:"attempt"`
	Model        string `json:"model,omitempty"`
	// Answered is false for a call that is in flight, or was lost.
	Answered bool      `json:"answered"`
	At       time.Time `json:"at"`
	// Tokens is the window's size as it was estimated before the call, Read what the provider has counted.
	Tokens int   `json:"tokens"`
	Read   int64 `json:"read,omitempty"`
	// Allowed are the only tools that could be called, if any were masked.
	Allowed []string `json:"allowed,omitempty"`
	// Cleared counts the results that this call was the first not to see, Compacted says the same of whole turns.
	Cleared   int  `json:"cleared,omitempty"`
	Compacted bool `json:"compacted,omitempty"`
	// Edits are what the provider has left out by itself of what is shown, Summed says that it has put its own summary in the place of
	// what stands before that, or, with a summary in its answer, of all.
	Edits    []loop.Edit `json:"edits,omitempty"`
	Summed   bool        `json:"summed,omitempty"`
	HalfFull bool        `json:"halfFull,omitempty"`
	// Exact says that the bytes are those that the call saw: their hash is the one that was stored with it.
	Exact bool `json:"exact"`
	// Program is the agent's name, if it is one: a call is then a start of it, and Spans are what it was given. What else is in its
	// window is not known.
	Program  string        `json:"program,omitempty"`
	Spans    []window.Span `json:"spans"`
	original func() []window.Message
}

func (a *app) prompt() *cobra.Command {
	var call, conversation int
	var original bool
	c := &cobra.Command{
		Use:   "prompt RUN PATH",
		Short: "Show what an agent's model saw in a call, byte for byte, each part labelled",
		Long: `Show what an agent's model saw in a call, byte for byte, each part labelled: tools, system, examples, memory, deps, history,
schema, recitation. It is made again from what is stored, and compared with the hash that the call has left.

Of an agent that is a program a call is a start of it, and shown is what it was given then: what it was told, and the system text, tools
and schema besides. What it has in its window beyond that is its own.

Without --call it is the last call. A task that has failed and begun anew, or delegated, has held several conversations; without
--conversation it is the last one of its own.`,
		Example: `prompt nightly report
prompt nightly 'work[3]/step' --call 2
prompt nightly report --json`,
		Args: takes("RUN", "PATH"),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := a.window(c.Context(), args[0], args[1], conversation, call)
			if err != nil {
				return err
			}
			if original {
				return a.showWhole(found)
			}
			if a.json {
				return a.put(found)
			}
			return a.show(found)
		},
	}
	c.Flags().IntVar(&call, "call", 0, "number of the call in the conversation, from 1")
	c.Flags().BoolVar(&original, "original", false, "show all that was said in the conversation, also what no window has any more")
	c.Flags().IntVar(&conversation, "conversation", 0, "number of the conversation, from 1")
	return c
}

// window finds a call and makes its window again.
func (a *app) window(ctx context.Context, id, path string, conversation, call int) (out *prompted, err error) {
	err = a.reading(ctx, func(store *sqlite.Store) error {
		if _, err := store.Run(ctx, id); err != nil {
			return a.unknownRun(id, err)
		}
		found, err := held(ctx, store, id, path)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return &cairn.Error{Code: NoSuchCall, Run: id, Path: path, Message: "no model was asked there",
				Next: "name a task whose agent is of package loop or command: see " + a.hint("inspect", quote(id))}
		}
		out, err = promptOf(path, found, conversation, call)
		if err != nil {
			return &cairn.Error{Code: NoSuchCall, Run: id, Path: path, Message: err.Error(), Next: "leave --call and --conversation out for the last"}
		}
		out.Run = id
		return nil
	})
	return out, err
}

func promptOf(path string, held []conversation, number, call int) (*prompted, error) {
	if number == 0 { // the last of the task's own, if there is one, and not one that a tool has held
		number = len(held)
		for i, h := range held {
			if h.opening.Within == "" {
				number = i + 1
			}
		}
	}
	if number < 1 || number > len(held) {
		return nil, fmt.Errorf("there is no conversation %d, of %d", number, len(held))
	}
	h := held[number-1]
	if call == 0 {
		call = len(h.calls)
	}
	switch {
	case len(h.calls) == 0:
		return nil, fmt.Errorf("conversation %d has made no call yet", number)
	case call < 1 || call > len(h.calls):
		return nil, fmt.Errorf("there is no call %d in conversation %d, which has %s", call, number, count(len(h.calls), "call"))
	}
	view, exact, err := h.window(call)
	if err != nil {
		return nil, err
	}
	made := h.calls[call-1]
	plan := made.plan
	out := &prompted{Path: path, Conversation: h.name, Within: h.opening.Within, Number: number, Of: len(held), Call: call, Calls: len(h.calls), Attempt: made.attempt,
		Model: h.opening.Setup.Model, Answered: made.answered, At: time.UnixMilli(plan.At).UTC(), Tokens: plan.Tokens, Read: made.read, Allowed: plan.Allowed,
		Cleared: len(plan.Clear) + made.edited, Compacted: plan.Compact != nil, Edits: made.edits, Summed: made.summed, HalfFull: plan.Half, Exact: exact,
		Program: h.program, Spans: view.Spans(), original: h.original}
	for _, m := range view.Messages {
		out.Summed = out.Summed || window.Compacts(m.Blocks)
	}
	return out, nil
}

// show writes a window for people: a line for each part, and under it what the model read.
func (a *app) show(p *prompted) error {
	var b strings.Builder
	state := ""
	if !p.Answered {
		state = ", not answered"
	}
	fmt.Fprintf(&b, "# %s, call %d of %d%s", p.Path, p.Call, p.Calls, state)
	if p.Of > 1 {
		fmt.Fprintf(&b, ", conversation %d of %d", p.Number, p.Of)
	}
	fmt.Fprintf(&b, ", attempt %d, %s\n# %s tokens estimated", p.Attempt, p.At.Format(clock), cairn.Tokens.Format(int64(p.Tokens)))
	if p.Read > 0 {
		fmt.Fprintf(&b, ", %s counted by %s", cairn.Tokens.Format(p.Read), p.Model)
	}
	b.WriteString("\n")
	for _, note := range p.notes() {
		b.WriteString("# " + note + "\n")
	}
	for _, s := range p.Spans {
		b.WriteString("\n" + label(s) + "\n" + s.Text)
		if !strings.HasSuffix(s.Text, "\n") {
			b.WriteString("\n")
		}
	}
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// showWhole writes the whole conversation: as JSON the messages, one per line.
func (a *app) showWhole(p *prompted) error {
	for _, m := range p.original() {
		if a.json {
			if err := a.put(m); err != nil {
				return err
			}
			continue
		}
		for _, b := range m.Blocks {
			s := window.SpanOf(m.Role, b)
			if _, err := fmt.Fprintf(a.out, "%s\n%s\n\n", label(s), strings.TrimSuffix(s.Text, "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

// notes says what is special about a window.
func (p *prompted) notes() (notes []string) {
	if p.Program != "" {
		notes = append(notes, "what "+p.Program+" was given when it was started; what else it has in its window is its own")
	}
	if p.Within != "" {
		notes = append(notes, "part of the call "+p.Within)
	}
	if p.Compacted {
		notes = append(notes, "compacted: a summary has taken the place of all but the newest turns")
	}
	if p.Cleared > 0 {
		notes = append(notes, count(p.Cleared, "old result")+" cleared before this call")
	}
	for _, e := range p.Edits {
		what := "parts"
		if e.Results > 0 {
			what = count(e.Results, "old result")
		}
		notes = append(notes, fmt.Sprintf("NOT seen by the model: %s of %s tokens that the provider has left out by itself (%s)", what, cairn.Tokens.Format(e.Tokens), e.Type))
	}
	if p.Summed {
		notes = append(notes, "NOT seen by the model: what stands before the provider's own summary")
	}
	if p.HalfFull {
		notes = append(notes, "over half full: the instructions are said again at the end")
	}
	if p.Allowed != nil {
		notes = append(notes, "only these tools could be called: "+strings.Join(p.Allowed, ", "))
	}
	switch {
	case p.Exact:
	case p.Program != "":
		notes = append(notes, "NOT all of what it was given: its hash differs, as that of a conversation whose agent or version was changed since it began")
	default:
		notes = append(notes, "NOT what the call saw: it was stored by another version of the program, and its hash differs")
	}
	return notes
}

// label is the line over a part.
func label(s window.Span) string {
	words := []string{string(s.Part)}
	if s.Name != "" {
		words = append(words, s.Name)
	}
	if s.Role != "" {
		words = append(words, string(s.Role))
	}
	if s.Kind != "" && s.Kind != window.Text {
		words = append(words, string(s.Kind))
	}
	words = append(words, "~"+count(s.Tokens, "token"))
	if s.Marked {
		words = append(words, "cache mark at its end")
	}
	return "--- " + strings.Join(words, ", ")
}
