package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// stored is a frame as frames --json shows it.
type stored struct {
	Hash  string          `json:"hash"`
	Bytes int             `json:"bytes"`
	Frame json.RawMessage `json:"frame"`
}

func (a *app) frames() *cobra.Command {
	var from int64
	c := &cobra.Command{
		Use:   "frames RUN",
		Short: "List the committed frames of a run",
		Long: `List the committed frames of a run: number, time, what caused it, what was decided, how the plan changed (+ new
or changed nodes, - nodes gone), and the hash.`,
		Example: `frames nightly
frames nightly --from 100
frames nightly --json`,
		Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.reading(c.Context(), func(store *sqlite.Store) error {
				err := store.Frames(c.Context(), args[0], from, func(_ int64, body []byte) error {
					f, err := core.Decode(body)
					if err != nil {
						return err
					}
					if a.json {
						return a.put(stored{core.Hash(body), len(body), body})
					}
					_, err = fmt.Fprintln(a.out, frameLine(f, core.Hash(body)))
					return err
				})
				return a.unknownRun(args[0], err)
			})
		},
	}
	c.Flags().Int64Var(&from, "from", 1, "number of the first frame listed")
	return c
}

func frameLine(f *core.Frame, hash string) string {
	var causes, decisions tally
	for _, e := range f.Events {
		causes.add(string(e.Kind), e.Path)
	}
	for _, d := range f.Decisions {
		decisions.add(string(d.Kind), d.Path)
	}
	plan := fmt.Sprintf("+%d -%d", len(f.Plan.Set), len(f.Plan.Gone))
	if f.Plan.Full {
		plan = fmt.Sprintf("=%d", len(f.Plan.Set))
	}
	if f.Unrendered {
		plan = "unrendered"
	}
	return fmt.Sprintf("%d  %s  %s  %s  %s  %s", f.N, time.UnixMilli(f.Time).UTC().Format(clock), causes.text(), decisions.text(), plan, hash[:12])
}

// tally counts kinds in the order in which they are first met. A single one keeps its path.
type tally struct {
	order []string
	count map[string]int
	path  map[string]string
}

func (t *tally) add(kind, path string) {
	if t.count == nil {
		t.count, t.path = map[string]int{}, map[string]string{}
	}
	if t.count[kind] == 0 {
		t.order = append(t.order, kind)
		t.path[kind] = path
	}
	t.count[kind]++
}

func (t *tally) text() string {
	if len(t.order) == 0 {
		return "-"
	}
	var out []string
	for _, kind := range t.order {
		switch n := t.count[kind]; {
		case n > 1:
			out = append(out, fmt.Sprintf("%s×%d", kind, n))
		case t.path[kind] != "":
			out = append(out, kind+" "+t.path[kind])
		default:
			out = append(out, kind)
		}
	}
	return strings.Join(out, ", ")
}
