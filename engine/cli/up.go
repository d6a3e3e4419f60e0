package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// upFlags are the flags of up.
type upFlags struct {
	input      string
	inputGiven bool
	id         string
	quiet      bool
}

func (a *app) up() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up WORKFLOW",
		Short: "Start a run and wait for its end",
		Long: `Start a run and wait for its end: progress on stderr, the result as JSON on stdout.

With the id of a run that exists and has not ended, up resumes it. The input never changes then: leave it out, or
give the same.`,
		Example: `up hello
up audit --input '{"dir":"."}' --run-id nightly
up audit --input @input.json --json`,
		Args: takes("WORKFLOW"),
		RunE: func(c *cobra.Command, args []string) error {
			f.inputGiven = c.Flags().Changed("input")
			return a.start(c.Context(), args[0], f)
		},
	}
	c.Flags().StringVar(&f.input, "input", "", inputUsage)
	c.Flags().StringVar(&f.id, "run-id", "", "name of the run (default: the workflow's name and a random token)")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress, only the run's id")
	return c
}

func (a *app) start(ctx context.Context, workflow string, f upFlags) error {
	def, err := a.workflow(workflow)
	if err != nil {
		return err
	}
	if f.id != "" {
		if err := cairn.CheckName(f.id); err != nil {
			return &cairn.Error{Code: engine.BadRunID, Message: err.Error(), Next: "take another --run-id"}
		}
	}
	input, err := a.input(ctx, def, f.input, f.inputGiven)
	if err != nil && (f.inputGiven || f.id == "") {
		return err
	}
	if f.id != "" && a.hasDB() {
		info, known := a.known(ctx, f.id)
		if known == nil {
			return a.again(ctx, info, workflow, input, f)
		}
		if !errors.Is(known, engine.RunNotFound) {
			return known
		}
	}
	if err != nil { // There is no example, and no run that would need none.
		return err
	}
	if _, err := engine.Rehearse(def, input); err != nil {
		return err
	}
	return a.session(ctx, f.quiet, func(s *session) error {
		run, err := s.engine.Start(context.WithoutCancel(ctx), workflow, input, engine.StartOptions{ID: f.id})
		if err != nil {
			return err
		}
		outcome, err := s.wait(ctx, run)
		if err != nil {
			return err
		}
		return a.finish(outcome)
	})
}

// again goes on with a run that up was given the id of, if it is what up was asked for.
func (a *app) again(ctx context.Context, info engine.RunInfo, workflow string, input json.RawMessage, f upFlags) error {
	if info.Workflow != workflow {
		return &cairn.Error{Code: engine.RunExists, Run: info.ID, Message: fmt.Sprintf("it is a run of workflow %q, not of %q", info.Workflow, workflow),
			Next: "take another --run-id"}
	}
	last, err := a.last(ctx, info.ID)
	if err != nil {
		return err
	}
	if last.Status.Terminal() {
		return a.hasEnded(last)
	}
	if f.inputGiven {
		stored, err := a.storedInput(ctx, info.ID)
		if err != nil {
			return err
		}
		if !bytes.Equal(stored, input) {
			return &cairn.Error{Code: engine.RunExists, Run: info.ID, Message: "the run exists with another input, which never changes",
				Next: "leave --input out to go on with it, or take another --run-id"}
		}
	}
	return a.goOn(ctx, last.ID, f.quiet, engine.ResumeOptions{})
}

// storedInput is the input a run was started with.
func (a *app) storedInput(ctx context.Context, id string) (input json.RawMessage, err error) {
	enough := errors.New("the first frame has it")
	err = a.reading(ctx, func(store *sqlite.Store) error {
		err := engine.ReadFrames(ctx, store, id, 1, func(f *core.Frame, _ string) error {
			for _, ev := range f.Events {
				if ev.Kind == core.RunStarted {
					input = ev.Payload
				}
			}
			return enough
		})
		if errors.Is(err, enough) {
			return nil
		}
		return err
	})
	return input, err
}
