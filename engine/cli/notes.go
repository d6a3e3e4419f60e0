package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

func (a *app) notes() *cobra.Command {
	c := &cobra.Command{
		Use:   "notes",
		Short: "Read, write and judge notes",
		Args:  takes(),
	}
	c.AddCommand(a.notesList(), a.notesAdd(), a.judge("accept", memory.Accepted, "Accept a note: from now on it counts, and what it supersedes does not"),
		a.judge("reject", memory.Rejected, "Reject a note: what it has superseded is back"), a.notesShow(), a.notesRetire())
	return c
}

func (a *app) notesList() *cobra.Command {
	var f scoped
	var statuses []string
	c := &cobra.Command{
		Use:   "list [NAMESPACE]",
		Short: "List the notes of a namespace or a bank, the oldest first",
		Long: `List the notes of a namespace or a bank, the oldest first: those that count, which are accepted, not superseded and valid.
With --status others.`,
		Example: `memory notes list workflow:runbook
memory notes list --bank project-x --status proposed --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.ns = args[0]
			}
			scope, err := f.scope()
			if err != nil {
				return err
			}
			if scope.Statuses, err = choose(statuses); err != nil {
				return err
			}
			var list []memory.Note
			if _, err := a.recollecting(c.Context(), func(m *lanes.Store) (err error) {
				list, err = m.Notes(c.Context(), scope)
				return err
			}); err != nil {
				return err
			}
			return a.listNotes(list)
		},
	}
	f.flags(c, false)
	c.Flags().StringArrayVar(&statuses, "status", nil, "proposed, accepted, rejected or all; may be repeated (default: those that count)")
	return c
}

func (a *app) listNotes(list []memory.Note) error {
	return listing(a, list, []string{"ID", "NAMESPACE", "BANK", "TYPE", "STATUS", "TAGS", "TIME", "TEXT"}, func(n memory.Note) []string {
		text := n.Body
		if n.Title != "" {
			text = n.Title + ": " + text
		}
		return []string{n.ID, n.Namespace.String(), maybe(n.Bank), string(n.Type), standingOf(n), maybe(strings.Join(n.Tags, ",")), n.Time.Format(clock),
			short(oneLine(text), maxValue)}
	})
}

// standingOf is a note's status, and why it does not count in spite of it.
func standingOf(n memory.Note) string {
	text := string(n.Status)
	if n.Pinned {
		text += ", pinned"
	}
	if n.Superseded {
		text += ", superseded"
	}
	switch now := time.Now(); {
	case !n.Valid.To.IsZero() && !now.Before(n.Valid.To):
		text += ", retired"
	case now.Before(n.Valid.From):
		text += ", not yet valid"
	}
	return text
}

func (a *app) notesAdd() *cobra.Command {
	var p placed
	var n memory.Note
	var kind, state string
	c := &cobra.Command{
		Use:   "add NAMESPACE TEXT",
		Short: "Add a note, accepted unless it is only proposed",
		Long: `Add a note: TEXT, @file, or - for stdin. It is accepted unless --status says that it is proposed. Its text never changes:
a better one supersedes it. An equal note is not added twice.`,
		Example: `memory notes add workflow:runbook "Restart the pool before the cache." --bank project-x --type procedural
memory notes add workflow:runbook @lesson.md --title "Failover" --status proposed --supersedes 5f3a`,
		Args: takes("NAMESPACE", "TEXT"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			ns, err := memory.ParseNamespace(args[0])
			if err != nil {
				return err
			}
			body, err := a.text(c.Context(), args[1])
			if err != nil {
				return err
			}
			if n.Place, err = p.place(ns); err != nil {
				return err
			}
			n.Type, n.Status, n.Body = memory.Type(kind), memory.Status(state), strings.TrimSpace(string(body))
			if n, err = n.Resolve(); err != nil {
				return err
			}
			return a.addNote(c.Context(), n)
		},
	}
	p.flags(c)
	c.Flags().StringVar(&n.ID, "id", "", "its id (default: one of its content)")
	c.Flags().StringVar(&n.Title, "title", "", "what it is about")
	c.Flags().StringVar(&kind, "type", "", "semantic, procedural or episodic (default semantic)")
	c.Flags().StringVar(&state, "status", "", "proposed, accepted or rejected (default accepted)")
	c.Flags().StringArrayVar(&n.Supersedes, "supersedes", nil, "the id of a note it replaces once it is accepted; may be repeated")
	c.Flags().StringArrayVar(&n.Sources, "source", nil, "the id of a note it is derived from, and forgotten with; may be repeated")
	c.Flags().BoolVar(&n.Pinned, "pin", false, "make it a primer")
	return c
}

// added is what notes add --json gives.
type added struct {
	memory.Note
	New bool `json:"new"`
}

func (a *app) addNote(ctx context.Context, n memory.Note) error {
	write := func(m *lanes.Store) error {
		saved, fresh, err := m.SaveNote(ctx, n)
		if err != nil {
			return err
		}
		words := "added note %s of %s, %s"
		if !fresh {
			words = "note %s of %s is there already, %s"
		}
		return a.said(added{saved, fresh}, words, saved.ID, saved.Namespace, standingOf(saved))
	}
	if links := append(n.Supersedes, n.Sources...); len(links) > 0 { // where nothing is, nothing is linked to
		return a.changing(ctx, "note", n.Namespace, links[0], write)
	}
	return a.keeping(ctx, write)
}

// named reads the arguments NAMESPACE and ID.
func named(what string, args []string) (ns memory.Namespace, id string, err error) {
	if ns, err = memory.ParseNamespace(args[0]); err != nil {
		return ns, "", err
	}
	return ns, args[1], memory.CheckName(what, args[1])
}

func (a *app) judge(verb string, as memory.Status, about string) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " NAMESPACE ID",
		Short:   about,
		Example: "memory notes " + verb + " workflow:runbook 5f3a",
		Args:    takes("NAMESPACE", "ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeNote(c.Context(), args, func(m *lanes.Store, ns memory.Namespace, id string) (memory.Note, error) {
				return m.SetStatus(c.Context(), ns, id, as)
			})
		},
	}
}

// changeNote changes a note and says how it stands now.
func (a *app) changeNote(ctx context.Context, args []string, fn func(m *lanes.Store, ns memory.Namespace, id string) (memory.Note, error)) error {
	ns, id, err := named("a note's id", args)
	if err != nil {
		return err
	}
	return a.changing(ctx, "note", ns, id, func(m *lanes.Store) error {
		n, err := fn(m, ns, id)
		if err != nil {
			return err
		}
		return a.said(n, "note %s of %s is %s", n.ID, n.Namespace, standingOf(n))
	})
}

func (a *app) notesShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAMESPACE ID",
		Short:   "Show a note with all that is known of it, whatever its status",
		Example: "memory notes show workflow:runbook 5f3a\nmemory notes show workflow:runbook 5f3a --json",
		Args:    takes("NAMESPACE", "ID"),
		RunE: func(c *cobra.Command, args []string) error {
			ns, id, err := named("a note's id", args)
			if err != nil {
				return err
			}
			var n memory.Note
			err = a.finding(c.Context(), "note", ns, id, func(m *lanes.Store) (err error) {
				n, err = m.GetNote(c.Context(), ns, id)
				return err
			})
			if err != nil {
				return err
			}
			if a.json {
				return a.put(n)
			}
			if err := a.table(func(w io.Writer) { describeNote(w, n) }); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "\n%s\n", n.Body)
			return err
		},
	}
}

func describeNote(w io.Writer, n memory.Note) {
	row(w, "note", n.ID)
	row(w, "namespace", n.Namespace.String())
	for _, line := range []struct{ name, text string }{
		{"bank", n.Bank}, {"tags", strings.Join(n.Tags, ", ")}, {"type", string(n.Type)}, {"status", standingOf(n)}, {"title", n.Title},
		{"supersedes", strings.Join(n.Supersedes, ", ")}, {"sources", strings.Join(n.Sources, ", ")}, {"valid", spanOf(n.Valid)}, {"time", n.Time.Format(clock)}, {"from", originOf(n.Origin)},
	} {
		if line.text != "" {
			row(w, line.name, line.text)
		}
	}
}

func spanOf(s memory.Span) (text string) {
	if !s.From.IsZero() {
		text = "from " + s.From.Format(clock)
	}
	if !s.To.IsZero() {
		text += " until " + s.To.Format(clock)
	}
	return strings.TrimSpace(text)
}

// originOf says where an item is from, "" for what a person wrote.
func originOf(o memory.Origin) string {
	if o.Run == "" {
		return ""
	}
	return fmt.Sprintf("run %s at %s, attempt %d", o.Run, o.Path, o.Attempt)
}

func (a *app) notesRetire() *cobra.Command {
	at := ""
	c := &cobra.Command{
		Use:   "retire NAMESPACE ID",
		Short: "End a note's validity without a successor",
		Example: `memory notes retire workflow:runbook 5f3a
memory notes retire workflow:runbook 5f3a --at 2026-12-31`,
		Args: takes("NAMESPACE", "ID"),
		RunE: func(c *cobra.Command, args []string) error {
			var when time.Time
			if at != "" {
				for _, layout := range []string{time.RFC3339, time.DateOnly} {
					if t, err := time.Parse(layout, at); err == nil {
						when = t
					}
				}
				if when.IsZero() {
					return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--at %q is no time", at), Next: "write 2026-12-31 or 2026-12-31T12:00:00Z"}
				}
			}
			return a.changeNote(c.Context(), args, func(m *lanes.Store, ns memory.Namespace, id string) (memory.Note, error) {
				return m.Retire(c.Context(), ns, id, when)
			})
		},
	}
	c.Flags().StringVar(&at, "at", "", "when it ends: 2026-12-31 or 2026-12-31T12:00:00Z (default: now)")
	return c
}
