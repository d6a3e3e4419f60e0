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
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/schema"
)

// upFlags are the flags of up.
type upFlags struct {
	input      string
	inputGiven bool
	// agent goes into the input.
	agent string
	id    string
	quiet bool
}

func (a *app) up() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up WORKFLOW",
		Short: "Start a run and wait for its end",
		Long: `Start a run and wait for its end: progress on stderr, the result as JSON on stdout.

With the id of a run that exists and has not ended, up resumes it. The input never changes then: leave it out, or
give the same.

Workflows whose input has a field "agent" say there who does their work. It is a part of the input, so whoever resumes the
run goes on with the same.`,
		Example: `up hello
up audit --input '{"dir":"."}' --run-id nightly
up audit --input @input.json --json
up review --agent anthropic:claude-opus-4-8`,
		Args: takes("WORKFLOW"),
		RunE: func(c *cobra.Command, args []string) error {
			f.inputGiven = c.Flags().Changed("input")
			return a.start(c.Context(), args[0], f)
		},
	}
	c.Flags().StringVar(&f.input, "input", "", inputUsage)
	c.Flags().StringVar(&f.agent, "agent", "", `who does the work, like anthropic:MODEL or openai:MODEL: sets the field "agent" of the input`)
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
	if err == nil {
		input, err = withAgent(def, input, f.agent)
	}
	if err != nil && (f.inputGiven || f.id == "" || errors.Is(err, BadUsage)) {
		return err
	}
	if f.id != "" && a.hasDB() {
		info, known := a.known(ctx, f.id)
		if known == nil {
			return a.again(ctx, info, def, input, f)
		}
		if !errors.Is(known, engine.RunNotFound) {
			return known
		}
	}
	if err != nil { // There is no example, and no run that would need none.
		return err
	}
	if err := engine.Ready(def, input); err != nil {
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
func (a *app) again(ctx context.Context, info engine.RunInfo, def cairn.Definition, input json.RawMessage, f upFlags) error {
	if info.Workflow != def.Name {
		return &cairn.Error{Code: engine.RunExists, Run: info.ID, Message: fmt.Sprintf("it is a run of workflow %q, not of %q", info.Workflow, def.Name),
			Next: "take another --run-id"}
	}
	last, err := a.last(ctx, info.ID)
	if err != nil {
		return err
	}
	if last.Status.Terminal() {
		return a.hasEnded(last)
	}
	if f.inputGiven || f.agent != "" {
		stored, err := a.storedInput(ctx, info.ID)
		if err != nil {
			return err
		}
		if !f.inputGiven {
			if input, err = withAgent(def, stored, f.agent); err != nil {
				return err
			}
		}
		if !bytes.Equal(stored, input) {
			return &cairn.Error{Code: engine.RunExists, Run: info.ID, Message: "the run exists with another input, which never changes",
				Next: "leave --input and --agent out to go on with it, or take another --run-id"}
		}
	}
	return a.goOn(ctx, last.ID, f.quiet, engine.ResumeOptions{})
}

// storedInput is the input a run was started with.
func (a *app) storedInput(ctx context.Context, id string) (input json.RawMessage, err error) {
	err = a.reading(ctx, func(store *sqlite.Store) error {
		input, err = engine.StoredInput(ctx, store, id)
		return err
	})
	return input, err
}

// withAgent sets the field of an input that says who does the work; "" leaves it as it is.
func withAgent(def cairn.Definition, input json.RawMessage, agent string) (json.RawMessage, error) {
	if agent == "" {
		return input, nil
	}
	var shape struct {
		Properties map[string]struct{ Type string } `json:"properties"`
	}
	s, err := schema.Of(def.Input)
	if err == nil {
		err = json.Unmarshal(s.JSON, &shape)
	}
	if err != nil {
		return nil, err
	}
	if shape.Properties["agent"].Type != "string" {
		return nil, &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("workflow %q takes no --agent: its input has no field \"agent\" for a name", def.Name),
			Next: "leave --agent out"}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, err
	}
	if fields["agent"], err = schema.Encode(agent); err != nil {
		return nil, err
	}
	raw, err := schema.Encode(fields)
	if err != nil {
		return nil, err
	}
	return engine.CheckInput(def, raw)
}
