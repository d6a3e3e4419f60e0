package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

func (a *app) memory() *cobra.Command {
	c := &cobra.Command{
		Use:   "memory",
		Short: "Look into, search, correct and forget what outlives runs",
		Long: `Look into, search, correct and forget what outlives runs: facts, threads and notes, digests of tasks among them.

Each item is in a namespace, written workflow:code-review, agent:NAME, user:NAME or global:NAME. Tasks recall what is
in a bank; tags narrow that. Memory lies in the file of the runs. With $` + keysEnv + ` set, to id:base64 of 32 bytes, it
is encrypted.`,
		Args: takes(),
	}
	c.AddCommand(a.memoryList(), a.memoryGet(), a.memorySet(), a.memoryRemove(), a.memorySearch(), a.memoryRecall(), a.notes(), a.threads(),
		a.primers(), a.memoryExport(), a.memoryImport(), a.forget(), a.memoryClean(), a.memoryStats(), a.memoryOutbox(), a.rekey())
	return c
}

// recollecting opens memory to look at it, for the length of fn, and says whether there is any. It creates nothing.
func (a *app) recollecting(ctx context.Context, fn func(m *lanes.Store) error) (there bool, err error) {
	keys, err := memoryKeys()
	if err != nil || !a.hasDB() {
		return false, err
	}
	err = a.reading(ctx, func(store *sqlite.Store) (err error) {
		if there, err = lanes.Present(ctx, store.DB()); err != nil || !there {
			return err
		}
		m, err := lanes.Open(ctx, lanes.Config{DB: store.DB(), Keys: keys, ReadOnly: true})
		if err != nil {
			return a.keyed(err)
		}
		return fn(m)
	})
	return there, err
}

// finding is recollecting for what has to be there.
func (a *app) finding(ctx context.Context, what string, ns memory.Namespace, id string, fn func(m *lanes.Store) error) error {
	there, err := a.recollecting(ctx, fn)
	if err == nil && !there {
		err = a.nothing(what, ns, id)
	}
	return err
}

func (a *app) nothing(what string, ns memory.Namespace, id string) error {
	return &cairn.Error{Code: memory.NotFound, Message: fmt.Sprintf("%s has no %s %q: nothing is remembered in %s", ns, what, id, a.db()),
		Next: "name another file with --db, or see " + a.hint("memory", "list")}
}

// keeping opens memory to write to it, or creates it, for the length of fn. What can be refused was refused before.
func (a *app) keeping(ctx context.Context, fn func(m *lanes.Store) error) error {
	keys, err := memoryKeys()
	if err != nil {
		return err
	}
	return a.writing(ctx, func(store *sqlite.Store) error {
		m, err := lanes.Open(ctx, lanes.Config{DB: store.DB(), Keys: keys})
		if err != nil {
			return a.keyed(err)
		}
		return fn(m)
	})
}

// mending is keeping where there is memory, and says whether there is. It creates none.
func (a *app) mending(ctx context.Context, fn func(m *lanes.Store) error) (there bool, err error) {
	if !a.hasDB() {
		return false, nil
	}
	err = a.reading(ctx, func(store *sqlite.Store) (err error) {
		there, err = lanes.Present(ctx, store.DB())
		return err
	})
	if err != nil || !there {
		return there, err
	}
	return true, a.keeping(ctx, fn)
}

// changing is mending for what has to be there.
func (a *app) changing(ctx context.Context, what string, ns memory.Namespace, id string, fn func(m *lanes.Store) error) error {
	there, err := a.mending(ctx, fn)
	if err == nil && !there {
		err = a.nothing(what, ns, id)
	}
	return err
}

// listing puts each of a list on a line of its own, or hands it to a table.
func listing[T any](a *app, list []T, header []string, cells func(T) []string) error {
	if a.json {
		for _, v := range list {
			if err := a.put(v); err != nil {
				return err
			}
		}
		return nil
	}
	return a.table(func(w io.Writer) {
		row(w, header...)
		for _, v := range list {
			row(w, cells(v)...)
		}
	})
}

// said gives an outcome: as JSON, or in words.
func (a *app) said(v any, words string, args ...any) error {
	if a.json {
		return a.put(v)
	}
	_, err := fmt.Fprintf(a.out, words+"\n", args...)
	return err
}

// placed are the flags of a command that puts something into a bank.
type placed struct {
	bank string
	tags []string
}

func (p *placed) flags(c *cobra.Command) {
	c.Flags().StringVar(&p.bank, "bank", "", "the bank that recalls it, like project-checkout or user-7 (default: none does, it is read by name)")
	c.Flags().StringArrayVar(&p.tags, "tag", nil, "a tag, like branch:main or stream:checkout; may be repeated")
}

// place is where it goes, with the tags that follow from the bank: BAD_BANK, BAD_TAG.
func (p *placed) place(ns memory.Namespace) (memory.Place, error) {
	if p.bank != "" {
		if err := memory.CheckBank(p.bank); err != nil {
			return memory.Place{}, err
		}
	}
	tags, err := memory.WriteTags(p.bank, nil, given(p.tags), "chat")
	return memory.Place{Namespace: ns, Bank: p.bank, Tags: tags}, err
}

// given leaves out empty values: --tag "" clears.
func given(tags []string) (out []string) {
	for _, tag := range tags {
		if tag != "" {
			out = append(out, tag)
		}
	}
	return out
}

// scoped are the flags of a command that looks into a bank or a namespace.
type scoped struct {
	bank, ns string
	tags     []string
}

func (s *scoped) flags(c *cobra.Command, namespace bool) {
	c.Flags().StringVar(&s.bank, "bank", "", "only what is in this bank")
	if namespace {
		c.Flags().StringVar(&s.ns, "ns", "", "only what is in this namespace")
	}
	c.Flags().StringArrayVar(&s.tags, "tag", nil, "only what has this tag; may be repeated")
}

// scope is what may be seen: INVALID_NAME, BAD_TAG, MEMORY_UNSCOPED.
func (s *scoped) scope() (scope memory.Scope, err error) {
	scope.Bank = s.bank
	if s.ns != "" {
		if scope.Namespace, err = memory.ParseNamespace(s.ns); err != nil {
			return scope, err
		}
	}
	for _, tag := range given(s.tags) {
		if err := memory.CheckTag(tag); err != nil {
			return scope, err
		}
		scope.Tags = append(scope.Tags, []string{tag})
	}
	return scope, scope.Check()
}

// choose reads statuses: "all" is each of them.
func choose(statuses []string) (out []memory.Status, err error) {
	for _, s := range statuses {
		if s == "all" {
			return []memory.Status{memory.Proposed, memory.Accepted, memory.Rejected}, nil
		}
		if err := memory.Status(s).Check(); err != nil {
			return nil, err
		}
		out = append(out, memory.Status(s))
	}
	return out, nil
}

// duration reads what time.ParseDuration does, and days.
func duration(flag, text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--%s %q is no time span", flag, text), Next: "write 90m, 24h or 7d"}
	}
	return d, nil
}

// instantOf reads a moment: a day, a time with its zone, or how long ago it was. Nothing is the zero time.
func instantOf(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if d, err := duration(flag, text); err == nil {
		return time.Now().Add(-d), nil
	}
	return time.Time{}, &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--%s %q is no time", flag, text),
		Next: "write 2026-03-01, 2026-03-01T12:00:00Z, or 24h or 7d for that long ago"}
}

// text reads a text given on the command line: as it is, @file, or - for stdin.
func (a *app) text(ctx context.Context, arg string) ([]byte, error) {
	if arg == "-" {
		return a.stdin(ctx)
	}
	if name, ok := strings.CutPrefix(arg, "@"); ok {
		return a.file(ctx, name)
	}
	return []byte(arg), nil
}

// ends says when something ends, for people.
func ends(at, now time.Time) string {
	switch left := at.Sub(now).Milliseconds(); {
	case at.IsZero():
		return "never"
	case left <= 0:
		return "over"
	default:
		return "in " + span(left)
	}
}

// lasted says how long ago something was.
func lasted(at time.Time) string { return span(max(0, time.Since(at).Milliseconds())) + " ago" }

func maybe(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
