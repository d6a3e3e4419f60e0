package recallset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/cairnrun/cairn/memory"
)

// Tuned are the LoCoMo conversations that the numbers of memory/rank were chosen on. All others are held out.
var Tuned = []string{"conv-26", "conv-43"}

// Options say what Report measures.
type Options struct {
	// LoCoMo is the file with the conversations. Where it is absent they are left out with a message.
	LoCoMo string
	// Workflow is the folder with the workflow set; empty: without it.
	Workflow string
	// Only are the conversations to look at; none: all.
	Only []string
	// Kinds adds a table for each kind of query.
	Kinds bool
	// Embedder makes vectors, for a line more; nil: none.
	Embedder memory.Embedder
}

// Report prints the tables of both sets.
func Report(ctx context.Context, w io.Writer, o Options) error {
	var own []Scope
	if o.Workflow != "" {
		var err error
		if own, err = Workflow(o.Workflow); err != nil {
			return err
		}
	}
	conversations, err := LoCoMo(o.LoCoMo)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(w, "%s is absent: no figures for LoCoMo\n\n", o.LoCoMo)
	} else if err != nil {
		return err
	}
	if len(o.Only) > 0 {
		conversations = slices.DeleteFunc(conversations, func(s Scope) bool { return !slices.Contains(o.Only, s.Name) })
	}
	if e := o.Embedder; e != nil {
		for _, scopes := range [][]Scope{own, conversations} {
			err := Embed(ctx, e, scopes, func(done, all int) {
				if done == all || done%512 == 0 {
					fmt.Fprintf(w, "vectors: %d of %d\n", done, all)
				}
			})
			if err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "vectors by %s\n\n", e.Model())
	}
	tables := []struct {
		name   string
		scopes []Scope
	}{{"workflow set", own}}
	if len(conversations) > 0 {
		tuned, held := Split(conversations)
		tables = append(tables, []struct {
			name   string
			scopes []Scope
		}{{"LoCoMo, all", conversations}, {"LoCoMo, tuned on", tuned}, {"LoCoMo, held out", held}}...)
	}
	for _, t := range tables {
		if len(t.scopes) == 0 {
			continue
		}
		if err := Table(ctx, w, t.name, t.scopes, ""); err != nil {
			return err
		}
		if !o.Kinds {
			continue
		}
		for _, kind := range kindsOf(t.scopes) {
			if err := Table(ctx, w, t.name+": "+kind, t.scopes, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// Split parts conversations into those that were tuned on and those held out.
func Split(all []Scope) (tuned, held []Scope) {
	for _, s := range all {
		if slices.Contains(Tuned, s.Name) {
			tuned = append(tuned, s)
		} else {
			held = append(held, s)
		}
	}
	return tuned, held
}

func kindsOf(scopes []Scope) (out []string) {
	for _, s := range scopes {
		for _, q := range s.Queries {
			if !slices.Contains(out, q.Kind) {
				out = append(out, q.Kind)
			}
		}
	}
	slices.Sort(out)
	return out
}
