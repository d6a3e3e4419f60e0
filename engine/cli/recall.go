package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/hindsight"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// previewed is what recall --json gives.
type previewed struct {
	Block  string       `json:"block"`
	Report cairn.Recall `json:"report"`
}

func (a *app) memoryRecall() *cobra.Command {
	var m memory.Memory
	budget := ""
	c := &cobra.Command{
		Use:   "recall QUERY",
		Short: "Show what a task with this prompt would be told",
		Long: `Show the block that a task would see before its prompt, byte for byte, on stdout, and the report on stderr. The flags are
the fields of memory.Memory. The exit code is 1 when a bank did not answer.`,
		Example: `memory recall "mend the build" --bank user-7 --bank project-x --tag branch:main
memory recall "mend the build" --bank project-x --budget high --max-tokens 4096 --json`,
		Args: takes("QUERY"),
		RunE: func(c *cobra.Command, args []string) error {
			m.Budget = memory.Budget(budget)
			if err := checkRecall(m, c.Flags().Changed("max-tokens")); err != nil {
				return err
			}
			return a.preview(c.Context(), m, args[0])
		},
	}
	c.Flags().StringArrayVar(&m.Banks, "bank", nil, "a bank to recall from; may be repeated")
	c.Flags().StringArrayVar(&m.Tags, "tag", nil, "a configured tag; may be repeated")
	c.Flags().StringArrayVar(&m.Primers, "primer", nil, "the id of a pinned note, or the name of a file in primers/ beside the database; may be repeated")
	c.Flags().StringVar(&budget, "budget", "", "low, mid or high (default mid)")
	c.Flags().IntVar(&m.MaxTokens, "max-tokens", 0, fmt.Sprintf("the most bytes of the block (default %d)", cairn.RootMemory.MaxTokens))
	return c
}

// checkRecall refuses what no task could be configured with, in the words of the flags.
func checkRecall(m memory.Memory, bounded bool) error {
	if len(m.Banks) == 0 {
		return &cairn.Error{Code: memory.Unscoped, Message: "no bank is named", Next: "name those to recall from with --bank"}
	}
	for _, bank := range m.Banks {
		if err := memory.CheckBank(bank); err != nil {
			return err
		}
	}
	if bounded && m.MaxTokens < 1 {
		return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--max-tokens %d", m.MaxTokens), Next: "it bounds the block in bytes"}
	}
	switch m.Budget {
	case "", memory.Low, memory.Mid, memory.High:
		return memory.CheckTags(m.Tags)
	}
	return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("there is no budget %q", string(m.Budget)), Next: "use low, mid or high"}
}

// unwritten is the memory of a file that has none.
type unwritten struct{ hindsight.Local }

func (unwritten) Recall(context.Context, memory.Query) (memory.Found, error) {
	return memory.Found{}, nil
}
func (unwritten) Primers(context.Context, string, []string, memory.Filter) (map[string]memory.Primer, error) {
	return nil, nil
}
func (unwritten) GetNote(context.Context, memory.Namespace, string) (memory.Note, error) {
	return memory.Note{}, &cairn.Error{Code: memory.NotFound, Message: "there is no memory"}
}

func (a *app) preview(ctx context.Context, m memory.Memory, query string) error {
	spec := m.Lower()
	if err := errors.Join(spec.Mistakes...); err != nil {
		return &cairn.Error{Code: BadUsage, Message: oneLine(err.Error()), Next: "see " + a.hint("memory", "recall", "--help")}
	}
	client, err := remoteClient()
	if err != nil {
		return err
	}
	var out previewed
	look := func(local hindsight.Local) error { // as a run would
		r := &memory.Runtime{Recaller: local, Primers: a.primerFiles()}
		if client != nil {
			r.Recaller = &hindsight.Backend{Local: local, Client: client}
		}
		out.Block, out.Report = r.Preview(ctx, *spec.Memory, query)
		return ctx.Err()
	}
	there, err := a.recollecting(ctx, func(store *lanes.Store) error { return look(store) })
	if err == nil && !there {
		err = look(unwritten{})
	}
	if err != nil {
		return err
	}
	if a.json {
		err = a.put(out)
	} else {
		if out.Block != "" {
			_, err = fmt.Fprintln(a.out, out.Block)
		}
		a.reportRecall(out.Report)
	}
	if err == nil && out.Report.Status.Degraded() {
		err = status(ExitFailed)
	}
	return err
}

// reportRecall shows a report on stderr.
func (a *app) reportRecall(r cairn.Recall) {
	t := *a
	t.out = a.err
	_ = t.table(func(w io.Writer) {
		row(w, "recall", fmt.Sprintf("%s, %s, %s, %d bytes", r.Status, count(r.Rows, "row"), count(r.Primers, "primer"), r.Bytes))
		for _, id := range r.Omitted {
			row(w, "too large", id)
		}
		for _, b := range r.Banks {
			text := string(b.Status)
			if b.Error != "" {
				text += ": " + oneLine(b.Error)
			}
			if b.Candidates > 0 {
				text += fmt.Sprintf(", %s by %s", count(b.Candidates, "candidate"), strings.Join(b.Arms, "+"))
			}
			for _, why := range slices.Sorted(maps.Keys(b.Dropped)) {
				text += ", " + strconv.Itoa(b.Dropped[why]) + " dropped: " + why
			}
			row(w, b.Bank, text)
			for i, source := range b.Sources {
				row(w, "", fmt.Sprintf("%d. %s", i+1, source))
			}
		}
	})
}
