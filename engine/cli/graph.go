package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// drawn is a plan as graph --json shows it.
type drawn struct {
	Title string              `json:"title"`
	Nodes []drawnNode         `json:"nodes"`
	Joins map[string][]string `json:"joins,omitempty"`
}

type drawnNode struct {
	Path    string          `json:"path"`
	Kind    cairn.Kind      `json:"kind"`
	After   []string        `json:"after,omitempty"`
	Untaken bool            `json:"untaken,omitempty"`
	Status  core.TaskStatus `json:"status,omitempty"`
}

func (a *app) graph() *cobra.Command {
	var format, input string
	var isRun bool
	c := &cobra.Command{
		Use:   "graph WORKFLOW|RUN",
		Short: "Draw the plan of a workflow before its first step, or of a run as it stands",
		Long: `Draw a plan.

A workflow is rendered with its example input, or --input, as it is before anything has happened; what it mounts later
is not to be seen. A run is drawn with its last plan and where each node stands. A name that is both is the workflow's;
--run takes it for the run's.`,
		Example: `graph audit
graph nightly --format dot
graph nightly --format mermaid`,
		Args: takes("WORKFLOW or RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			draw, ok := formats[format]
			if !ok {
				return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("there is no format %q", format), Next: "use text, dot or mermaid"}
			}
			d, err := a.plan(c, args[0], input, isRun)
			if err != nil {
				return err
			}
			if a.json {
				return a.put(drawing(d))
			}
			_, err = io.WriteString(a.out, draw(d))
			return err
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, dot or mermaid")
	c.Flags().StringVar(&input, "input", "", inputUsage)
	c.Flags().BoolVar(&isRun, "run", false, "the name is a run's, though a workflow has it too")
	return c
}

var formats = map[string]func(core.Drawing) string{
	"text": core.Drawing.Text, "dot": core.Drawing.DOT, "mermaid": core.Drawing.Mermaid,
}

// plan finds what to draw.
func (a *app) plan(c *cobra.Command, name, input string, isRun bool) (core.Drawing, error) {
	def, ok := a.find(name)
	if !ok || isRun {
		d, err := a.runPlan(c.Context(), name)
		if !isRun && (errors.Is(err, engine.RunNotFound) || errors.Is(err, NoDatabase)) {
			err = &cairn.Error{Code: engine.RunNotFound, Message: fmt.Sprintf("there is no workflow and no run %q here", name),
				Next: "see " + a.hint("workflows") + " and " + a.hint("ps")}
		}
		return d, err
	}
	raw, err := a.input(c.Context(), def, input, c.Flags().Changed("input"))
	if err != nil {
		return core.Drawing{}, err
	}
	m, err := engine.Rehearse(def, raw)
	if err != nil {
		return core.Drawing{}, err
	}
	d := m.Draw()
	d.State = nil
	return d, nil
}

// runPlan is the last plan of a run: with the workflow's code, if it still renders it, as the tree has it, else from the
// frames alone.
func (a *app) runPlan(ctx context.Context, id string) (d core.Drawing, err error) {
	err = a.reading(ctx, func(store *sqlite.Store) error {
		info, err := store.Run(ctx, id)
		if err != nil {
			return a.unknownRun(id, err)
		}
		if def, ok := a.find(info.Workflow); ok {
			m, err := engine.LoadMachine(ctx, store, id, def)
			if err != nil {
				return err
			}
			if m.Verify() == nil {
				if d = m.Draw(); d.Lines != nil {
					return nil
				}
			}
		}
		state, lines, err := engine.Load(ctx, store, id)
		if err == nil {
			d = lines.Draw(state)
		}
		return err
	})
	return d, err
}

func drawing(d core.Drawing) drawn {
	out := drawn{Title: d.Title, Joins: d.Joins}
	for _, l := range d.Lines {
		n := drawnNode{Path: l.Path, Kind: l.Kind, After: l.After, Untaken: l.Untaken}
		if d.State != nil {
			if t := d.State.Tasks[l.Path]; t != nil {
				n.Status = t.Status
			}
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out
}
