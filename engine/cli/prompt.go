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
	Exact bool          `json:"exact"`
	Spans []window.Span `json:"spans"`
	held  loop.Held
}

func (a *app) prompt() *cobra.Command {
	var call, conversation int
	var original bool
	c := &cobra.Command{
		Use:   "prompt RUN PATH",
		Short: "Show what an agent's model saw in a call, byte for byte, each part labelled",
		Long: `Show what an agent's model saw in a call, byte for byte, each part labelled: tools, system, examples, memory, deps, history,
schema, recitation. It is made again from what is stored, and compared with the hash that the call has left.

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
		found, err := conversations(ctx, store, id, path)
		if err != nil {
			return err
		}
		if len(found[path]) == 0 {
			return &cairn.Error{Code: NoSuchCall, Run: id, Path: path, Message: "no model was asked there",
				Next: "name a task whose agent is of package loop: see " + a.hint("inspect", quote(id))}
		}
		out, err = promptOf(path, found[path], conversation, call)
		if err != nil {
			return &cairn.Error{Code: NoSuchCall, Run: id, Path: path, Message: err.Error(), Next: "leave --call and --conversation out for the last"}
		}
		out.Run = id
		return nil
	})
	return out, err
}

func promptOf(path string, held []loop.Held, conversation, call int) (*prompted, error) {
	if conversation == 0 { // the last of the task's own, if there is one, and not one that a tool has held
		conversation = len(held)
		for i, h := range held {
			if h.Opening.Within == "" {
				conversation = i + 1
			}
		}
	}
	if conversation < 1 || conversation > len(held) {
		return nil, fmt.Errorf("there is no conversation %d, of %d", conversation, len(held))
	}
	h := held[conversation-1]
	if call == 0 {
		call = len(h.Calls)
	}
	switch {
	case len(h.Calls) == 0:
		return nil, fmt.Errorf("conversation %d has made no call yet", conversation)
	case call < 1 || call > len(h.Calls):
		return nil, fmt.Errorf("there is no call %d in conversation %d, which has %s", call, conversation, count(len(h.Calls), "call"))
	}
	view, exact, err := h.Window(call)
	if err != nil {
		return nil, err
	}
	made := h.Calls[call-1]
	out := &prompted{Path: path, Conversation: h.Name, Within: h.Opening.Within, Number: conversation, Of: len(held), Call: call, Calls: len(h.Calls), Attempt: made.Attempt,
		Model: h.Opening.Setup.Model, Answered: made.Finished, At: time.UnixMilli(made.Plan.At).UTC(), Tokens: made.Plan.Tokens, Read: contextOf(made),
		Allowed: made.Plan.Allowed, Cleared: len(made.Plan.Clear), Compacted: made.Plan.Compact != nil, HalfFull: made.Plan.Half, Exact: exact, Spans: view.Spans(), held: h}
	out.Cleared += made.Edited.Results
	out.Edits, out.Summed = made.Turn.Edits, window.Compacts(made.Turn.Blocks)
	for _, m := range view.Messages {
		out.Summed = out.Summed || window.Compacts(m.Blocks)
	}
	return out, nil
}

// contextOf is how much a call has read by its provider's count: of several, by the last.
func contextOf(made loop.Made) int64 {
	if n := len(made.Turn.Usage); n > 0 {
		return made.Turn.Usage[n-1].Context()
	}
	return 0
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
	for _, m := range p.held.Original() {
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
	if !p.Exact {
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
