package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// keyShown is how much of a key a table shows, and rm takes for one.
const keyShown = 12

func (a *app) cache() *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "Look at, and remove, outputs stored for other tasks",
		Args:  takes(),
	}
	c.AddCommand(a.cacheList(), a.cacheRemove(), a.cacheStats())
	return c
}

func (a *app) cacheList() *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use:   "ls",
		Short: "List stored outputs, the last used first",
		Example: `cache ls
cache ls --limit 5 --json`,
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--limit %d", limit), Next: "list at least one"}
			}
			var list []engine.CacheEntry
			if a.hasDB() {
				err := a.reading(c.Context(), func(store *sqlite.Store) (err error) {
					list, err = store.Cached(c.Context(), "", limit)
					return err
				})
				if err != nil {
					return err
				}
			}
			return a.listCache(list)
		},
	}
	c.Flags().IntVar(&limit, "limit", 100, "the most entries listed")
	return c
}

func (a *app) listCache(list []engine.CacheEntry) error {
	if a.json {
		for _, e := range list {
			if err := a.put(e); err != nil {
				return err
			}
		}
		return nil
	}
	now := time.Now()
	ago := func(t time.Time) string { return span(max(0, now.Sub(t).Milliseconds())) + " ago" }
	return a.table(func(w io.Writer) {
		row(w, "KEY", "SCOPE", "WORKFLOW", "TASK", "SIZE", "CREATED", "USED", "EXPIRES")
		for _, e := range list {
			expires := "never"
			switch left := e.Expires.Sub(now).Milliseconds(); {
			case e.Expires.IsZero():
			case left <= 0:
				expires = "over"
			default:
				expires = "in " + span(left)
			}
			row(w, short(e.Key, keyShown), e.Scope, e.Workflow, e.Path, size(e.Bytes), ago(e.Created), ago(e.Used), expires)
		}
	})
}

func (a *app) cacheRemove() *cobra.Command {
	all := false
	c := &cobra.Command{
		Use:   "rm {KEY | --all}",
		Short: "Remove a stored output, by its key or the beginning of it, or all",
		Example: `cache rm 664e8cbef87d
cache rm --all`,
		Args: func(c *cobra.Command, args []string) error {
			if all {
				return takes()(c, args)
			}
			return takes("KEY")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			key := ""
			if !all {
				key = args[0]
				if err := a.oneEntry(c.Context(), key); err != nil {
					return err
				}
			} else if !a.hasDB() {
				return a.removed(0)
			}
			n := 0
			err := a.writing(c.Context(), func(store *sqlite.Store) (err error) {
				n, err = store.Forget(c.Context(), key)
				return err
			})
			if err != nil {
				return err
			}
			return a.removed(n)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "remove all")
	return c
}

// oneEntry refuses a key that means no entry, or several.
func (a *app) oneEntry(ctx context.Context, key string) error {
	var list []engine.CacheEntry
	err := a.reading(ctx, func(store *sqlite.Store) (err error) {
		list, err = store.Cached(ctx, key, 2)
		return err
	})
	next := "see " + a.hint("cache", "ls")
	switch {
	case err != nil:
		return err
	case key == "" || len(list) == 0:
		return &cairn.Error{Code: NoSuchEntry, Message: fmt.Sprintf("the cache has no entry %q", key), Next: next}
	case len(list) > 1:
		return &cairn.Error{Code: NoSuchEntry, Message: fmt.Sprintf("several keys begin with %q", key), Next: next + " for more of it, or use --all"}
	}
	return nil
}

func (a *app) removed(n int) error {
	if a.json {
		return a.put(map[string]int{"removed": n})
	}
	_, err := fmt.Fprintf(a.out, "removed %d of the stored outputs\n", n)
	return err
}

func (a *app) cacheStats() *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Sum up the stored outputs, and the bounds they are kept in",
		Example: `cache stats
cache stats --json`,
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			stats := engine.CacheStats{MaxBytes: sqlite.DefaultCacheBytes, MaxAge: sqlite.DefaultCacheAge}
			if a.hasDB() {
				err := a.reading(c.Context(), func(store *sqlite.Store) (err error) {
					stats, err = store.CacheStats(c.Context())
					return err
				})
				if err != nil {
					return err
				}
			}
			if a.json {
				return a.put(stats)
			}
			return a.table(func(w io.Writer) {
				row(w, "entries", fmt.Sprint(stats.Entries))
				row(w, "size", fmt.Sprintf("%s of at most %s", size(stats.Bytes), size(stats.MaxBytes)))
				row(w, "unused", fmt.Sprintf("for at most %s", span(stats.MaxAge.Milliseconds())))
				row(w, "being made", fmt.Sprint(stats.Held))
			})
		},
	}
}
