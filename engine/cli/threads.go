package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

func (a *app) threads() *cobra.Command {
	c := &cobra.Command{
		Use:   "threads",
		Short: "Read and remove conversations",
		Args:  takes(),
	}
	c.AddCommand(a.threadsList(), a.threadsShow(), a.threadsRemove())
	return c
}

// talked is a thread as list --json shows it.
type talked struct {
	memory.Thread
	Messages int `json:"messages"`
}

func (a *app) threadsList() *cobra.Command {
	return &cobra.Command{
		Use:     "list NAMESPACE",
		Short:   "List the threads of a namespace",
		Example: "memory threads list agent:support",
		Args:    takes("NAMESPACE"),
		RunE: func(c *cobra.Command, args []string) error {
			ns, err := memory.ParseNamespace(args[0])
			if err != nil {
				return err
			}
			var list []talked
			if _, err := a.recollecting(c.Context(), func(m *lanes.Store) error {
				threads, err := m.Threads(c.Context(), ns)
				for _, t := range threads {
					n, err := m.CountMessages(c.Context(), ns, t.ID)
					if err != nil {
						return err
					}
					list = append(list, talked{t, n})
				}
				return err
			}); err != nil {
				return err
			}
			return listing(a, list, []string{"THREAD", "MESSAGES", "BANK", "TAGS", "CREATED", "TITLE"}, func(t talked) []string {
				return []string{t.ID, strconv.Itoa(t.Messages), maybe(t.Bank), maybe(strings.Join(t.Tags, ",")), lasted(t.Created), maybe(t.Title)}
			})
		},
	}
}

func (a *app) threadsShow() *cobra.Command {
	last := 0
	c := &cobra.Command{
		Use:     "show NAMESPACE THREAD",
		Short:   "Print the messages of a thread, in order",
		Example: "memory threads show agent:support t-1\nmemory threads show agent:support t-1 --last 10 --json",
		Args:    takes("NAMESPACE", "THREAD"),
		RunE: func(c *cobra.Command, args []string) error {
			ns, id, err := named("a thread's id", args)
			if err != nil {
				return err
			}
			if last < 0 {
				return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--last %d", last), Next: "0 is all of them"}
			}
			var list []memory.Message
			err = a.finding(c.Context(), "thread", ns, id, func(m *lanes.Store) (err error) {
				list, err = m.Messages(c.Context(), ns, id, memory.Window{Last: last}, 0)
				return err
			})
			if err != nil {
				return err
			}
			for _, m := range list {
				if a.json {
					err = a.put(m)
				} else {
					_, err = fmt.Fprintf(a.out, "%d  %s  %s: %s\n", m.Seq, m.Created.Format(clock), m.Role, said(m))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().IntVar(&last, "last", 0, "only so many, the newest (default: all)")
	return c
}

// said is what a message says, its lines indented.
func said(m memory.Message) string {
	text := strings.ReplaceAll(strings.TrimSpace(m.Content), "\n", "\n    ")
	if s := m.Summary; s != nil {
		text = fmt.Sprintf("(for %s, %d to %d) ", count(int(s.Count), "message"), s.First, s.Last) + text
	}
	if len(m.Calls) > 0 {
		text += " (calls " + strings.Join(m.Calls, ", ") + ")"
	}
	if m.Answers != "" {
		text += " (answers " + m.Answers + ")"
	}
	return strings.TrimSpace(text)
}

func (a *app) threadsRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAMESPACE THREAD",
		Short:   "Remove a thread with all its messages",
		Example: "memory threads rm agent:support t-1",
		Args:    takes("NAMESPACE", "THREAD"),
		RunE: func(c *cobra.Command, args []string) error {
			ns, id, err := named("a thread's id", args)
			if err != nil {
				return err
			}
			err = a.changing(c.Context(), "thread", ns, id, func(m *lanes.Store) error {
				removed, err := m.DeleteThread(c.Context(), ns, id)
				if err == nil && !removed {
					err = &cairn.Error{Code: memory.NotFound, Message: fmt.Sprintf("%s has no thread %q", ns, id), Next: "see " + a.hint("memory", "threads", "list", quote(ns.String()))}
				}
				return err
			})
			if err != nil {
				return err
			}
			return a.said(gone{true}, "removed thread %s of %s", id, ns)
		},
	}
}
