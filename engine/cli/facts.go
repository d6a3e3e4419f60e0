package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// maxValue is how much of a value a table shows.
const maxValue = 60

func (a *app) memoryList() *cobra.Command {
	return &cobra.Command{
		Use:   "list [NAMESPACE]",
		Short: "List the namespaces, or the facts of one",
		Example: `memory list
memory list workflow:code-review --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listNamespaces(c.Context())
			}
			ns, err := memory.ParseNamespace(args[0])
			if err != nil {
				return err
			}
			var facts []memory.Fact
			if _, err := a.recollecting(c.Context(), func(m *lanes.Store) (err error) {
				facts, err = m.Facts(c.Context(), ns)
				return err
			}); err != nil {
				return err
			}
			now := time.Now()
			return listing(a, facts, []string{"KEY", "VERSION", "BANK", "TAGS", "UPDATED", "EXPIRES", "VALUE"}, func(f memory.Fact) []string {
				return []string{f.Key, strconv.FormatInt(f.Version, 10), maybe(f.Bank), maybe(strings.Join(f.Tags, ",")), lasted(f.Updated), ends(f.Expires, now),
					short(string(f.Value), maxValue)}
			})
		},
	}
}

func (a *app) listNamespaces(ctx context.Context) error {
	var shares []lanes.Share
	if _, err := a.recollecting(ctx, func(m *lanes.Store) (err error) {
		shares, err = m.Shares(ctx)
		return err
	}); err != nil {
		return err
	}
	return listing(a, shares, []string{"NAMESPACE", "FACTS", "NOTES", "THREADS", "MESSAGES"}, func(s lanes.Share) []string {
		return []string{s.Namespace.String(), strconv.Itoa(s.Facts), strconv.Itoa(s.Notes), strconv.Itoa(s.Threads), strconv.Itoa(s.Messages)}
	})
}

func (a *app) memoryGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get NAMESPACE KEY",
		Short:   "Print a fact's value",
		Long:    "Print a fact's value as JSON. With --json all that belongs to the fact: version, bank, tags, times, where it is from.",
		Example: "memory get workflow:code-review test-runner\nmemory get user:ada theme --json",
		Args:    takes("NAMESPACE", "KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			ns, err := memory.ParseNamespace(args[0])
			if err != nil {
				return err
			}
			var f memory.Fact
			err = a.finding(c.Context(), "fact", ns, args[1], func(m *lanes.Store) (err error) {
				f, err = m.GetFact(c.Context(), ns, args[1])
				return err
			})
			if err != nil {
				return err
			}
			return a.said(f, "%s", f.Value)
		},
	}
}

// factFlags are the flags of set, and which of them were given.
type factFlags struct {
	placed
	bankGiven, tagsGiven, ttlGiven, swap bool
	lasts                                string
	version                              int64
}

func (a *app) memorySet() *cobra.Command {
	var f factFlags
	c := &cobra.Command{
		Use:   "set NAMESPACE KEY JSON",
		Short: "Write a fact",
		Long: `Write a fact: JSON, @file, or - for stdin. Of a fact that is there, what no flag names stays: its bank, its tags, when it
expires. An empty --bank, an empty --tag or a --ttl of 0 clears it.

With --if-version it is written only if it has that version, 0 if it must not be there. Earlier versions are kept: see gc.`,
		Example: `memory set workflow:code-review test-runner '"bun test"' --bank project-x
memory set user:ada theme '{"dark":true}' --ttl 30d
memory set global:all limit --if-version 3 -- -5`,
		Args: takes("NAMESPACE", "KEY", "JSON"),
		RunE: func(c *cobra.Command, args []string) error {
			f.bankGiven, f.tagsGiven = c.Flags().Changed("bank"), c.Flags().Changed("tag")
			f.ttlGiven, f.swap = c.Flags().Changed("ttl"), c.Flags().Changed("if-version")
			written, err := a.setFact(c.Context(), args[0], args[1], args[2], f)
			if err != nil {
				return err
			}
			return a.said(written, "%s %s is version %d", written.Namespace, written.Key, written.Version)
		},
	}
	f.flags(c)
	c.Flags().StringVar(&f.lasts, "ttl", "", "how long it holds, like 90m, 24h or 30d (default: for ever)")
	c.Flags().Int64Var(&f.version, "if-version", 0, "write only over this version, 0 is none")
	return c
}

// setTries bounds how often a write that others overtake is tried again.
const setTries = 10

// setFact writes over what is there, and again when others have written meanwhile, unless a version was asked for.
func (a *app) setFact(ctx context.Context, namespace, key, value string, flags factFlags) (f memory.Fact, err error) {
	ns, err := memory.ParseNamespace(namespace)
	if err != nil {
		return f, err
	}
	raw, err := a.text(ctx, value)
	if err != nil {
		return f, err
	}
	for try := 1; ; try++ {
		next, was, there, err := a.nextFact(ctx, ns, key, raw, flags)
		if err != nil {
			return f, err
		}
		expected := was.Version
		if flags.swap {
			if expected = flags.version; expected != 0 && !there {
				return f, &cairn.Error{Code: memory.VersionConflict, Next: "leave --if-version out, or say 0",
					Message: fmt.Sprintf("%s has no fact %q, where version %d was expected", ns, key, expected)}
			}
		}
		err = a.keeping(ctx, func(m *lanes.Store) (err error) {
			f, err = m.SwapFact(ctx, next, expected)
			return err
		})
		if flags.swap || try == setTries || !errors.Is(err, memory.VersionConflict) {
			return f, err
		}
	}
}

// nextFact is what is to be written over what was, checked. there says whether there is memory at all.
func (a *app) nextFact(ctx context.Context, ns memory.Namespace, key string, value []byte, flags factFlags) (next, was memory.Fact, there bool, err error) {
	there, err = a.recollecting(ctx, func(m *lanes.Store) (err error) {
		if was, err = m.GetFact(ctx, ns, key); errors.Is(err, memory.NotFound) {
			err = nil
		}
		return err
	})
	if err != nil {
		return next, was, there, err
	}
	next = memory.Fact{Place: was.Place, Key: key, Value: value, Expires: was.Expires, Valid: was.Valid}
	if was.Version == 0 || flags.bankGiven || flags.tagsGiven {
		p := flags.placed
		if !flags.bankGiven {
			p.bank = was.Bank
		}
		if !flags.tagsGiven {
			p.tags = chosen(was.Tags)
		}
		if next.Place, err = p.place(ns); err != nil {
			return next, was, there, err
		}
	}
	if flags.ttlGiven {
		next.Expires = time.Time{}
		ttl, err := duration("ttl", flags.lasts)
		if err != nil {
			return next, was, there, err
		}
		if ttl > 0 {
			next.Expires = time.Now().Add(ttl)
		}
	}
	next, err = next.Resolve()
	return next, was, there, err
}

// chosen are the tags that somebody has given, without those that follow from the bank.
func chosen(tags []string) []string {
	branched := slices.ContainsFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, "branch:") })
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool {
		return strings.HasPrefix(tag, "source:") || tag == "scope:main" && !branched
	})
}

// gone is what rm --json gives.
type gone struct {
	Removed bool `json:"removed"`
}

func (a *app) memoryRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAMESPACE KEY",
		Short:   "Remove a fact; its earlier versions stay until gc",
		Long:    "Remove a fact. Its earlier versions stay for reads of the past until gc takes them; forget leaves no trace.",
		Example: "memory rm workflow:code-review test-runner",
		Args:    takes("NAMESPACE", "KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			ns, err := memory.ParseNamespace(args[0])
			if err != nil {
				return err
			}
			if err := memory.CheckName("a fact's key", args[1]); err != nil {
				return err
			}
			removed := false
			err = a.changing(c.Context(), "fact", ns, args[1], func(m *lanes.Store) (err error) {
				if removed, err = m.DeleteFact(c.Context(), ns, args[1]); err == nil && !removed {
					err = &cairn.Error{Code: memory.NotFound, Message: fmt.Sprintf("%s has no fact %q", ns, args[1]), Next: "see " + a.hint("memory", "list", quote(ns.String()))}
				}
				return err
			})
			if err != nil {
				return err
			}
			return a.said(gone{true}, "removed %s %s", ns, args[1])
		},
	}
}

func (a *app) memoryStats() *cobra.Command {
	return &cobra.Command{
		Use:     "stats",
		Short:   "Count what is remembered",
		Example: "memory stats\nmemory stats --json",
		Args:    takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			var st lanes.Stats
			if _, err := a.recollecting(c.Context(), func(m *lanes.Store) (err error) {
				st, err = m.Stats(c.Context())
				return err
			}); err != nil {
				return err
			}
			if a.json {
				return a.put(st)
			}
			return a.table(func(w io.Writer) {
				row(w, "facts", fmt.Sprintf("%d, %d of them expired, %s", st.Facts, st.Expired, count(st.Versions, "earlier version")))
				row(w, "notes", strconv.Itoa(st.Notes))
				row(w, "threads", fmt.Sprintf("%d with %s", st.Threads, count(st.Messages, "message")))
				row(w, "index", indexLine(st))
				row(w, "vectors", strconv.Itoa(st.Vectors))
				row(w, "outbox", fmt.Sprintf("%d waiting, %d dead", st.Waiting, st.Dead))
				row(w, "encrypted", sealedLine(st))
			})
		},
	}
}

// indexLine says how complete the index is.
func indexLine(st lanes.Stats) string {
	if st.Encrypted {
		return "none, because memory is encrypted"
	}
	return fmt.Sprintf("%d of %s", st.Indexed, count(st.Facts+st.Messages+st.Notes, "item"))
}

func sealedLine(st lanes.Stats) string {
	switch {
	case !st.Encrypted:
		return "no"
	case st.Unsealed > 0:
		return fmt.Sprintf("yes, but for %s: see rekey", count(st.Unsealed, "row"))
	}
	return "yes"
}
