package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// answer is what why --json gives.
type answer struct {
	Run    string `json:"run"`
	Path   string `json:"path"`
	Status string `json:"status"`
	Why    string `json:"why"`
}

func (a *app) why() *cobra.Command {
	return &cobra.Command{
		Use:   "why RUN PATH",
		Short: "Say why a node of a run stands where it does",
		Example: `why nightly report
why nightly 'work[3]/step'`,
		Args: takes("RUN", "PATH"),
		RunE: func(c *cobra.Command, args []string) error {
			id, path := args[0], args[1]
			return a.reading(c.Context(), func(store *sqlite.Store) error {
				info, err := store.Run(c.Context(), id)
				if err != nil {
					return a.unknownRun(id, err)
				}
				def, err := a.workflow(info.Workflow)
				if err != nil {
					return err
				}
				m, err := engine.LoadMachine(c.Context(), store, id, def)
				if err != nil {
					return err
				}
				m.Verify() // What differs is said where it matters: there is no plan then.
				text := m.Why(path)
				if info.Status == core.Running && !driven(info) {
					text += fmt.Sprintf(" No live process drives the run: go on with %s.", a.hint("resume", quote(id)))
				}
				if t := m.State().Tasks[path]; info.Reopens() && (t == nil || t.Status != core.TaskFinished && t.Status != core.TaskSkipped) {
					hint := a.raise(id)
					text += " R" + hint[1:] + "."
				}
				if a.json {
					return a.put(answer{id, path, standing(info), text})
				}
				_, err = fmt.Fprintln(a.out, text)
				return err
			})
		},
	}
}
