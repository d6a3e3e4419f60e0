package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// conversations reads those that the agents of a run have held with models, by the path of the task: of the task at a path, or of all
// for "". Tasks without any are left out.
func conversations(ctx context.Context, store *sqlite.Store, run, path string) (map[string][]loop.Held, error) {
	entries, err := store.Entries(ctx, run, path)
	if err != nil {
		return nil, err
	}
	all := map[string][]loop.Held{}
	for _, j := range journals(entries) {
		held, err := loop.Read(j.entries)
		if err != nil {
			return nil, badJournal(run, j.path, err)
		}
		if len(held) > 0 {
			all[j.path] = held
		}
	}
	return all, nil
}

func badJournal(run, path string, err error) error {
	return &cairn.Error{Code: cairn.CodeOf(err, BadJournal), Run: run, Path: path, Message: "the task's conversations can't be read", Err: err,
		Next: "use the version of the program that has written them"}
}

// conversation is one with a model, or with an agent that is a program.
type conversation struct {
	name    string
	opening window.Opening
	calls   []asked
	// program is the agent's name, if it is one: then a call is a start of it.
	program  string
	window   func(call int) (view window.View, exact bool, err error)
	original func() []window.Message
	// spared is what its windows went without.
	spared spared
}

// asked is a call, as far as all kinds of them are alike.
type asked struct {
	attempt  int
	plan     window.Plan
	answered bool
	// read is how much it has read by the provider's count; 0 is not known.
	read int64
	// edits are what the provider has left out by itself, edited counts the results that it was the first not to see of that, and
	// summed says that its answer begins with the provider's own summary.
	edits  []loop.Edit
	edited int
	summed bool
}

// held reads all conversations of the task at a path, in the order in which they began.
func held(ctx context.Context, store *sqlite.Store, run, path string) (all []conversation, err error) {
	entries, err := store.Entries(ctx, run, path)
	if err != nil {
		return nil, err
	}
	for _, j := range journals(entries) {
		if j.path != path { // no path is all of them
			continue
		}
		models, err := loop.Read(j.entries)
		if err != nil {
			return nil, badJournal(run, path, err)
		}
		programs, err := transcript.Read(j.entries)
		if err != nil {
			return nil, badJournal(run, path, err)
		}
		for _, h := range models {
			all = append(all, ofModel(h))
		}
		for _, h := range programs {
			all = append(all, ofProgram(h))
		}
	}
	slices.SortStableFunc(all, func(a, b conversation) int { return cmp.Compare(a.begun(), b.begun()) })
	return all, nil
}

// begun is when the first call was made; one that has none comes last.
func (c conversation) begun() int64 {
	if len(c.calls) == 0 {
		return 1<<63 - 1
	}
	return c.calls[0].plan.At
}

func ofModel(h loop.Held) conversation {
	c := conversation{name: h.Name, opening: h.Opening, window: h.Window, original: h.Original}
	for _, made := range h.Calls {
		one := asked{attempt: made.Attempt, plan: made.Plan, answered: made.Finished, edits: made.Turn.Edits, edited: made.Edited.Results,
			summed: window.Compacts(made.Turn.Blocks)}
		if n := len(made.Turn.Usage); n > 0 { // of several, the last
			one.read = made.Turn.Usage[n-1].Context()
		}
		c.calls = append(c.calls, one)
	}
	c.spared.Pointers, c.spared.Cleared, c.spared.Compactions = h.Reduced()
	return c
}

func ofProgram(h transcript.Held) conversation {
	c := conversation{name: h.Name, opening: h.Opening, program: h.Opening.Setup.Provider, window: h.Window, original: h.Original, spared: spared{Pointers: h.Pointers}}
	for i, s := range h.Starts {
		c.calls = append(c.calls, asked{attempt: s.Attempt, plan: s.Plan, answered: h.Answered(i + 1)})
	}
	return c
}
