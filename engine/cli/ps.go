package cli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// listed is a run as ps --json shows it: Status says interrupted where nobody drives it.
type listed struct {
	engine.RunInfo
	Status string `json:"status"`
}

func (a *app) ps() *cobra.Command {
	var q engine.Query
	var status string
	c := &cobra.Command{
		Use:   "ps",
		Short: "List runs, newest first",
		Long: `List runs, newest first. A run that should be running and that no live process drives is "interrupted": go on with
resume.`,
		Example: `ps
ps --status interrupted
ps --workflow audit --limit 5 --json`,
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkStatus(status); err != nil {
				return err
			}
			if q.Limit < 1 {
				return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--limit %d", q.Limit), Next: "list at least one"}
			}
			if !a.hasDB() {
				return a.list(nil)
			}
			return a.reading(c.Context(), func(store *sqlite.Store) error {
				limit := q.Limit
				q.Status = core.Status(status)
				if status == interrupted || q.Status == core.Running { // told apart here, not by the store
					q.Status, q.Limit = core.Running, math.MaxInt32
				}
				runs, err := store.Runs(c.Context(), q)
				if err != nil {
					return err
				}
				shown := []listed{}
				for _, info := range runs {
					s := standing(info)
					if (status == "" || s == status) && len(shown) < limit {
						shown = append(shown, listed{info, s})
					}
				}
				return a.list(shown)
			})
		},
	}
	c.Flags().StringVar(&q.Workflow, "workflow", "", "only runs of this workflow")
	c.Flags().StringVar(&status, "status", "", "only runs that are running, interrupted, paused, blocked, finished, failed, cancelled or continued")
	c.Flags().IntVar(&q.Limit, "limit", 100, "the most runs listed")
	return c
}

func checkStatus(status string) error {
	switch s := core.Status(status); {
	case status == "", status == interrupted, s == core.Running, s == core.Paused, s == core.Blocked, s.Terminal():
		return nil
	}
	return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("there is no status %q", status),
		Next: "use running, interrupted, paused, blocked, finished, failed, cancelled or continued"}
}

func (a *app) list(runs []listed) error {
	if a.json {
		for _, r := range runs {
			if err := a.put(r); err != nil {
				return err
			}
		}
		return nil
	}
	now := time.Now()
	ago := func(t time.Time) string { return span(max(0, now.Sub(t).Milliseconds())) }
	var stopped []string
	err := a.table(func(w io.Writer) {
		row(w, "RUN", "WORKFLOW", "STATUS", "FRAMES", "AGE", "UPDATED")
		for _, r := range runs {
			row(w, r.ID, r.Workflow, r.Status, strconv.FormatInt(r.Head, 10), ago(r.Created), ago(r.Updated)+" ago")
			if r.Reopens() {
				stopped = append(stopped, r.ID)
			}
		}
	})
	if len(stopped) > 0 { // beside the table: scripts read it
		fmt.Fprintf(a.err, "cairn: a budget has stopped %s: raise the limit and go on with %s\n",
			short(strings.Join(stopped, ", "), maxBrief), a.hint("resume", "RUN"))
	}
	return err
}
