package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task/agent/toolcall"
)

// effect is a call of a tool, as effects --json shows it.
type effect struct {
	Run     string `json:"run"`
	Path    string `json:"path"`
	Tool    string `json:"tool"`
	Attempt int    `json:"attempt,omitempty"`
	// Outcome is done, failed, unknown, or in flight for a call of an attempt that runs.
	Outcome string `json:"outcome"`
	Key     string `json:"key"`
	// SideEffect, Idempotent and Revertible are as the tool was.
	SideEffect bool `json:"sideEffect"`
	Idempotent bool `json:"idempotent,omitempty"`
	Revertible bool `json:"revertible,omitempty"`
	// Input is what the tool was called with, or InputHash its SHA-256.
	Input     json.RawMessage `json:"input,omitempty"`
	InputHash string          `json:"inputHash,omitempty"`
	Problem   string          `json:"problem,omitempty"`
	Began     time.Time       `json:"began,omitzero"`
	Ended     time.Time       `json:"ended,omitzero"`
}

// inFlight is the outcome of a call that is being made.
const inFlight = "in flight"

func (a *app) effects() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "effects RUN",
		Short: "List what the agents of a run have done to the world by their tools",
		Long: `List the calls of tools with a side effect that the agents of a run have made, in the order of their tasks and, in a task,
in the order in which they began. A call whose attempt was killed before its outcome was known is "unknown": it may have
happened or not. What a call can be undone by is for its tool to say; of those marked so it has said that it can.

What a program that is an agent does by its own tools is not in the list.`,
		Example: `effects nightly
effects nightly --all
effects nightly --json`,
		Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			made, err := a.made(c.Context(), args[0], all)
			if err != nil {
				return err
			}
			return a.showEffects(made)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "calls of tools without a side effect, too")
	return c
}

// made reads the calls of a run.
func (a *app) made(ctx context.Context, id string, all bool) (made []effect, err error) {
	err = a.reading(ctx, func(store *sqlite.Store) error {
		info, err := store.Run(ctx, id)
		if err != nil {
			return a.unknownRun(id, err)
		}
		var state *core.State
		err = engine.FoldFrames(ctx, store, id, func(now *core.State, _ *core.Frame) error { state = now; return nil })
		if err != nil {
			return err
		}
		entries, err := store.Entries(ctx, id, "")
		if err != nil {
			return err
		}
		for _, j := range journals(entries) {
			calls, err := toolcall.Read(j.entries)
			if err != nil {
				return fmt.Errorf("the journal of %s: %w", j.path, err)
			}
			runs := func(attempt int) bool {
				t := state.Tasks[j.path]
				return driven(info) && t != nil && t.Status == core.TaskRunning && t.Attempt == attempt
			}
			for _, c := range calls {
				if all || c.SideEffect {
					made = append(made, effectOf(id, j.path, c, runs(c.Attempt)))
				}
			}
		}
		return nil
	})
	return made, err
}

// journalOf is that of one task.
type journalOf struct {
	path    string
	entries map[string]json.RawMessage
}

// journals parts a run's journal, which comes by path.
func journals(entries []engine.Entry) (all []journalOf) {
	for _, e := range entries {
		if len(all) == 0 || all[len(all)-1].path != e.Path {
			all = append(all, journalOf{e.Path, map[string]json.RawMessage{}})
		}
		all[len(all)-1].entries[e.Name] = e.Value
	}
	return all
}

func effectOf(id, path string, c toolcall.Record, runs bool) effect {
	e := effect{Run: id, Path: path, Tool: c.Tool, Attempt: c.Attempt, Outcome: string(c.State), Key: c.Key, SideEffect: c.SideEffect, Idempotent: c.Idempotent,
		Revertible: c.Revertible, Input: c.Input, InputHash: c.InputHash, Problem: c.Problem, Began: c.Began, Ended: c.Ended}
	if c.State == toolcall.Begun {
		e.Outcome = string(toolcall.Unknown)
		if runs {
			e.Outcome = inFlight
		}
	}
	return e
}

func (a *app) showEffects(made []effect) error {
	if a.json {
		for _, e := range made {
			if err := a.put(e); err != nil {
				return err
			}
		}
		return nil
	}
	return a.table(func(w io.Writer) {
		row(w, "PATH", "TOOL", "ATTEMPT", "OUTCOME", "BEGAN", "REVERT", "INPUT", "KEY")
		for _, e := range made {
			attempt, began, revert := "", "", ""
			if e.Attempt > 0 {
				attempt = strconv.Itoa(e.Attempt)
			}
			if !e.Began.IsZero() {
				began = e.Began.Format(clock)
			}
			if e.Revertible {
				revert = "possible"
			}
			row(w, e.Path, e.Tool, attempt, e.Outcome, began, revert, e.brief(), e.Key)
		}
	})
}

// mostInput is how much of an input a line shows.
const mostInput = 60

// brief is the input in a line.
func (e effect) brief() string {
	if e.InputHash != "" {
		return "sha256:" + e.InputHash[:min(12, len(e.InputHash))]
	}
	return short(oneLine(string(e.Input)), mostInput)
}
