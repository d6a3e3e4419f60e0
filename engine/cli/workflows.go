package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/internal/schema"
)

// offered is a workflow as workflows --json shows it.
type offered struct {
	Name    string          `json:"name"`
	About   string          `json:"about,omitempty"`
	Version string          `json:"version,omitempty"`
	Example json.RawMessage `json:"example,omitempty"`
	// Input and Result are JSON schemas.
	Input  json.RawMessage `json:"input,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

func (a *app) workflows() *cobra.Command {
	return &cobra.Command{
		Use:     "workflows",
		Short:   "List the workflows of this program, with an example input",
		Example: "workflows\nworkflows --json",
		Args:    takes(),
		RunE: func(*cobra.Command, []string) error {
			for _, d := range a.defs {
				o := offered{Name: d.Name, About: d.About, Version: d.Version}
				if d.Example != nil {
					raw, err := engine.ExampleInput(d)
					if err != nil {
						return err
					}
					o.Example = raw
				}
				if s, err := schema.Of(d.Input); err == nil {
					o.Input = s.JSON
				}
				if s, err := schema.Of(d.Output); err == nil {
					o.Result = s.JSON
				}
				if err := a.offer(o); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) offer(o offered) error {
	if a.json {
		return a.put(o)
	}
	title := o.Name
	if o.Version != "" {
		title += " " + o.Version
	}
	if o.About != "" {
		title += ": " + o.About
	}
	try := "takes an --input, and has no example of one"
	if o.Example != nil {
		try = a.hint("up", quote(o.Name), "--input", quote(string(o.Example)))
	}
	_, err := fmt.Fprintf(a.out, "%s\n    %s\n", title, try)
	return err
}
