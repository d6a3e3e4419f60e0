package cli

import (
	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
)

func (a *app) export() *cobra.Command {
	return &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run as JSON lines, artifacts included: to keep, to import elsewhere, to replay",
		Example: `export nightly > nightly.jsonl
export nightly | gzip > nightly.jsonl.gz`,
		Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			files, err := a.files()
			if err != nil {
				return err
			}
			return a.reading(c.Context(), func(store *sqlite.Store) error {
				return a.unknownRun(args[0], engine.Export(c.Context(), store, files, args[0], a.out))
			})
		},
	}
}
