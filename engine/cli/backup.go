package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// exported is what memory export --json gives when it has written a file.
type exported struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

func (a *app) memoryExport() *cobra.Command {
	return &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all of memory as JSON lines, to keep or to import elsewhere",
		Long: `Write all of memory as JSON lines, to FILE or to stdout. An import of it exports the same bytes again. Texts are in clear,
also those of an encrypted memory.`,
		Example: "memory export memory.jsonl\nmemory export | gzip > memory.jsonl.gz",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-" {
				return a.exportMemory(c.Context(), a.out)
			}
			done := exported{File: args[0]}
			err := replaceFile(args[0], func(w io.Writer) error {
				counted := &counter{w: w}
				err := a.exportMemory(c.Context(), counted)
				done.Bytes = counted.n
				return err
			})
			if err != nil {
				return err
			}
			return a.said(done, "wrote %s to %s", size(done.Bytes), done.File)
		},
	}
}

func (a *app) exportMemory(ctx context.Context, w io.Writer) error {
	there, err := a.recollecting(ctx, func(m *lanes.Store) error { return m.Export(ctx, w) })
	if err == nil && !there {
		_, err = io.WriteString(w, lanes.EmptyExport)
	}
	return err
}

// counter counts what goes through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// replaceFile writes a file that only its owner can read, whole or not at all.
func replaceFile(name string, write func(w io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".export-*")
	if err != nil {
		return unreadable(name, err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// taken is what memory import --json gives.
type taken struct {
	Imported int `json:"imported"`
}

func (a *app) memoryImport() *cobra.Command {
	mark := false
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Add what export has written to memory, all of it or nothing",
		Long: `Add what export has written to memory: FILE, or - for stdin. All of it is checked first and then written, or nothing, also
when the name of an item is taken. Items stay as they were, their tags included: what was exported is restored byte for byte.

With --mark what comes from elsewhere is told from what was learnt here: each item without a tag source:… gets
source:import. It is one of the 16 tags that an item may have; where there is no room for it nothing is imported.`,
		Example: "memory import memory.jsonl\nmemory import theirs.jsonl --mark\nmemory import - --db elsewhere.db < memory.jsonl",
		Args:    takes("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			raw, err := a.file(c.Context(), args[0])
			if err != nil {
				return err
			}
			var options []lanes.ImportOption
			if mark {
				options = append(options, lanes.MarkImported())
			}
			if err := lanes.CheckExport(bytes.NewReader(raw), options...); err != nil {
				return err
			}
			var done taken
			err = a.keeping(c.Context(), func(m *lanes.Store) (err error) {
				done.Imported, err = m.Import(c.Context(), bytes.NewReader(raw), options...)
				return err
			})
			if err != nil {
				return err
			}
			return a.said(done, "imported %s", count(done.Imported, "item"))
		},
	}
	c.Flags().BoolVar(&mark, "mark", false, "add source:import to what has no tag source:…")
	return c
}
