package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// forgotten is what forget --json gives.
type forgotten struct {
	What string `json:"what"`
	// Held is what was in the namespace, where all of it was forgotten.
	Held *lanes.Share `json:"held,omitempty"`
	// Items is how many facts, threads, messages and notes are gone, derived ones included.
	Items int `json:"items"`
	// Names and Words are how many the file was searched for afterwards, in vain.
	Names int `json:"names"`
	Words int `json:"words"`
	// Documents of the remote backend have their deletion queued.
	Documents []string `json:"documents,omitempty"`
	// Undelivered effects of runs wait in the outbox and may bring some of it back.
	Undelivered int `json:"undelivered,omitempty"`
}

func (a *app) forget() *cobra.Command {
	yes := false
	c := &cobra.Command{
		Use:   "forget NAMESPACE [LANE ID]",
		Short: "Remove every trace of a namespace, or of one item, and verify it",
		Long: `Remove every trace of a namespace, or of one item: fact KEY, note ID, thread ID, or message THREAD ID. With it go all
versions, entries of the index, vectors, what is queued for the remote backend, and what is derived from it: notes whose
source it is, messages of a thread, summaries. Then the file is searched for its names and words.

Copies of the file and exports are not reached, nor are the frames of runs, which keep what their tasks have put out.`,
		Example: `memory forget user:ada --yes
memory forget workflow:code-review fact test-runner --yes
memory forget agent:support message t-1 m-7 --yes`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ns, ref, err := doomed(args)
			if err != nil {
				return err
			}
			return a.forgetting(c.Context(), ns, ref, yes)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do it: there is no way back")
	return c
}

// doomed reads what is to be forgotten: a namespace, or one item of it.
func doomed(args []string) (ns memory.Namespace, ref *memory.Ref, err error) {
	if ns, err = memory.ParseNamespace(args[0]); err != nil || len(args) == 1 {
		return ns, nil, err
	}
	ref = &memory.Ref{Namespace: ns, Lane: memory.Lane(args[1])}
	rest := args[2:]
	if ref.Lane == memory.MessageLane && len(rest) == 2 {
		ref.Thread, rest = rest[0], rest[1:]
	}
	if len(rest) != 1 {
		return ns, nil, &cairn.Error{Code: BadUsage, Message: "forget takes a NAMESPACE, or a NAMESPACE, a LANE and an ID",
			Next: "say fact KEY, note ID, thread ID, or message THREAD ID"}
	}
	ref.ID = rest[0]
	return ns, ref, ref.Check()
}

func (a *app) forgetting(ctx context.Context, ns memory.Namespace, ref *memory.Ref, yes bool) error {
	done := forgotten{What: ns.String()}
	var err error
	if ref != nil {
		done.What = ref.String()
	} else if done.Held, err = a.share(ctx, ns); err != nil {
		return err
	}
	if !yes {
		return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("forget removes %s%s for good", done.What, done.holding()), Next: "repeat with --yes"}
	}
	_, err = a.mending(ctx, func(m *lanes.Store) (err error) {
		var f lanes.Forgotten
		if ref != nil {
			f, err = m.ForgetItem(ctx, *ref)
		} else {
			f, err = m.Forget(ctx, ns)
		}
		if err != nil {
			return err
		}
		done.Items, done.Names, done.Words, done.Documents = f.Items, len(f.Names), len(f.Words), f.Documents
		return m.VerifyForgotten(ctx, f)
	})
	if err != nil {
		return err
	}
	if done.Undelivered, err = a.undelivered(ctx); err != nil {
		return err
	}
	if a.json {
		return a.put(done)
	}
	return a.sayForgotten(done)
}

func (a *app) sayForgotten(f forgotten) error {
	text := "there was nothing of " + f.What
	if f.Items+f.Names+f.Words > 0 {
		text = fmt.Sprintf("forgot %s: %s%s; the file was searched for %s and %s of it, and has none", f.What, count(f.Items, "item"), f.holding(),
			count(f.Names, "name"), count(f.Words, "word"))
	}
	if len(f.Documents) > 0 {
		text += fmt.Sprintf("; the deletion of %s is queued for the remote backend", strings.Join(f.Documents, ", "))
	}
	if f.Undelivered > 0 {
		fmt.Fprintf(a.err, "cairn: %s of runs still in the outbox may bring some of it back: let a run deliver them, then forget again\n",
			count(f.Undelivered, "write"))
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}

// holding says what a namespace holds, or held.
func (f forgotten) holding() string {
	if f.Held == nil {
		return ""
	}
	return fmt.Sprintf(" (%s, %s, %s with %s)", count(f.Held.Facts, "fact"), count(f.Held.Notes, "note"), count(f.Held.Threads, "thread"),
		count(f.Held.Messages, "message"))
}

// share is what a namespace holds, nil if that is nothing.
func (a *app) share(ctx context.Context, ns memory.Namespace) (held *lanes.Share, err error) {
	_, err = a.recollecting(ctx, func(m *lanes.Store) error {
		shares, err := m.Shares(ctx)
		for _, s := range shares {
			if s.Namespace == ns {
				held = &s
			}
		}
		return err
	})
	return held, err
}

// undelivered counts effects for memory that wait in the outbox of the runs.
func (a *app) undelivered(ctx context.Context) (n int, err error) {
	if !a.hasDB() {
		return 0, nil
	}
	err = a.reading(ctx, func(store *sqlite.Store) error {
		_, list, err := store.Queue(ctx, maxQueue)
		for _, q := range list {
			if q.Kind == memory.RetainKind || q.Kind == memory.AppendKind {
				n++
			}
		}
		return err
	})
	return n, err
}
