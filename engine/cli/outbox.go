package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

func (a *app) memoryOutbox() *cobra.Command {
	c := &cobra.Command{
		Use:   "outbox",
		Short: "Look at what the remote backend has yet to be told, and mend what it refuses",
		Args:  takes(),
	}
	c.AddCommand(a.outboxList(),
		a.outboxEach("retry", "Make a projection due now, dead or not; --dead all that are dead", "made due", (*lanes.Store).Retry),
		a.outboxEach("drop", "Remove a projection undelivered; --dead all that are dead", "dropped", (*lanes.Store).Drop))
	return c
}

func (a *app) outboxList() *cobra.Command {
	dead := false
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List projections that wait, in the order of queueing",
		Example: "memory outbox ls\nmemory outbox ls --dead --json",
		Args:    takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := a.projections(c.Context(), dead)
			if err != nil {
				return err
			}
			return listing(a, list, []string{"ID", "DOCUMENT", "VERSION", "STATE", "TRIES", "QUEUED", "WHY"}, func(p memory.Projection) []string {
				state := "waiting"
				if p.Dead {
					state = "dead"
				}
				if p.Delete {
					state += ", deletes"
				}
				return []string{p.ID, p.Document, strconv.FormatInt(p.Version, 10), state, strconv.Itoa(p.Tries), lasted(p.Queued), maybe(short(oneLine(p.Why), maxBrief))}
			})
		},
	}
	c.Flags().BoolVar(&dead, "dead", false, "only those that are not tried any more")
	return c
}

// projections lists what waits for the remote backend, or what is dead of it.
func (a *app) projections(ctx context.Context, dead bool) (list []memory.Projection, err error) {
	_, err = a.recollecting(ctx, func(m *lanes.Store) error {
		all, err := m.Projections(ctx)
		for _, p := range all {
			if p.Dead || !dead {
				list = append(list, p)
			}
		}
		return err
	})
	return list, err
}

// attended is what outbox retry and drop give with --json.
type attended struct {
	Done int `json:"done"`
}

func (a *app) outboxEach(verb, about, done string, fn func(m *lanes.Store, ctx context.Context, id string) error) *cobra.Command {
	dead := false
	c := &cobra.Command{
		Use:     verb + " {ID… | --dead}",
		Short:   about,
		Example: "memory outbox " + verb + " project-x/5f3a@2\nmemory outbox " + verb + " --dead",
		RunE: func(c *cobra.Command, ids []string) error {
			if dead == (len(ids) > 0) {
				return &cairn.Error{Code: BadUsage, Message: verb + " needs an ID, or --dead", Next: "see " + a.hint("memory", "outbox", "ls")}
			}
			known, err := a.projections(c.Context(), dead)
			if err != nil {
				return err
			}
			if dead {
				for _, p := range known {
					ids = append(ids, p.ID)
				}
			}
			for _, id := range ids { // before any is touched
				if !has(known, id) {
					return &cairn.Error{Code: memory.NotFound, Message: fmt.Sprintf("no projection %q waits", id), Next: "see " + a.hint("memory", "outbox", "ls")}
				}
			}
			if _, err := a.mending(c.Context(), func(m *lanes.Store) error {
				for _, id := range ids {
					if err := fn(m, c.Context(), id); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
			return a.said(attended{len(ids)}, "%s %s", done, strings.TrimSpace(count(len(ids), "projection")))
		},
	}
	c.Flags().BoolVar(&dead, "dead", false, "all that are dead")
	return c
}

func has(list []memory.Projection, id string) bool {
	for _, p := range list {
		if p.ID == id {
			return true
		}
	}
	return false
}
