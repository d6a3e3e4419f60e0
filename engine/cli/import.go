package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// imported is what import --json gives.
type imported struct {
	Run string `json:"run"`
}

func (a *app) imports() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Store an exported run, under its own id",
		Long: `Store an exported run, under its own id, in a database that does not have it. A run that has not ended can be resumed
here. FILE is what export wrote, or - for stdin.`,
		Example: `import nightly.jsonl
import - --db elsewhere.db < nightly.jsonl`,
		Args: takes("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			raw, err := a.file(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := a.importable(c.Context(), raw); err != nil {
				return err
			}
			files, err := a.files()
			if err != nil {
				return err
			}
			return a.writing(c.Context(), func(store *sqlite.Store) error {
				id, err := engine.Import(c.Context(), store, files, bytes.NewReader(raw))
				if err != nil {
					return err
				}
				if a.json {
					return a.put(imported{id})
				}
				_, err = fmt.Fprintf(a.out, "imported run %s; look at it with %s\n", id, a.hint("inspect", quote(id)))
				return err
			})
		},
	}
}

// file reads a file named on the command line.
func (a *app) file(ctx context.Context, name string) ([]byte, error) {
	if name == "-" {
		return a.stdin(ctx)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return raw, nil
}

// importable refuses a file before a database is opened for it.
func (a *app) importable(ctx context.Context, raw []byte) error {
	id, err := engine.CheckExport(bytes.NewReader(raw))
	if err != nil || !a.hasDB() {
		return err
	}
	if _, err := a.known(ctx, id); err == nil {
		return &cairn.Error{Code: engine.RunExists, Run: id, Message: "there is a run of this id in " + a.db(),
			Next: "import it into another database, with --db"}
	}
	return nil
}
