// Package recallset reads the sets that recall is measured on, and measures: memory/rank holds its floors by it, and
// internal/recallbench prints the tables of docs/recall.md.
package recallset

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
)

// Scope is what some queries may see: a bank after strict filtering.
type Scope struct {
	// Name is the bank and the branch, or the conversation.
	Name string
	// Docs are its documents.
	Docs []rank.Doc
	// Queries are asked of them.
	Queries []Query
}

// Query is one question with the documents that answer it.
type Query struct {
	// Text is the question.
	Text string
	// Kind groups the queries: a category of LoCoMo, or words, paraphrase, identifier, cjk, …
	Kind string
	// Vector is that of Text; see Embed.
	Vector []float32
	// Relevant are ids of documents. None: nothing should come back.
	Relevant []string
}

// LoCoMo reads conversations: each is a scope, each of their turns a document.
func LoCoMo(file string) ([]Scope, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var conversations []struct {
		Sample string
		Docs   []struct {
			ID, At, Speaker, Text, Caption string
			Session                        int
		}
		Queries []struct {
			Category int
			Question string
			Relevant []string
		}
	}
	if err := json.Unmarshal(raw, &conversations); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []Scope
	for _, c := range conversations {
		s := Scope{Name: c.Sample}
		for i, d := range c.Docs {
			at, err := time.Parse("3:04 pm on 2 January, 2006", d.At)
			if err != nil {
				return nil, fmt.Errorf("%s: %s %s: %w", file, c.Sample, d.ID, err)
			}
			s.Docs = append(s.Docs, rank.Doc{ID: d.ID, Speaker: d.Speaker, Body: d.Text, About: d.Caption,
				Time: at.UnixMilli(), Group: strconv.Itoa(d.Session), Pos: i})
		}
		for _, q := range c.Queries {
			if len(q.Relevant) > 0 {
				s.Queries = append(s.Queries, Query{Text: q.Question, Kind: strconv.Itoa(q.Category), Relevant: q.Relevant})
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// item is a line of workflow-docs.jsonl.
type item struct {
	ID         string
	Bank       string
	Branch     string // seen only from there; empty: from everywhere
	Lane       string // note, fact or message
	Kind       string // of a note: lesson or digest
	Status     string // of a note: proposed, rejected, or accepted if empty
	Supersedes string
	Title      string
	Speaker    string
	Body       string
	Tags       []string
	Group      string
	Pos        int
	At         int64
}

// Workflow reads the set of workflow memories in a folder: notes, facts, messages and digests of several banks and
// branches, with old versions and proposals among them that no query may see. There is a scope for each bank and branch
// that is asked about.
func Workflow(dir string) ([]Scope, error) {
	items, err := lines[item](filepath.Join(dir, "workflow-docs.jsonl"))
	if err != nil {
		return nil, err
	}
	queries, err := lines[struct {
		Bank, Branch, Text, Kind string
		Relevant                 []string
	}](filepath.Join(dir, "workflow-queries.jsonl"))
	if err != nil {
		return nil, err
	}
	superseded := map[string]bool{}
	for _, i := range items {
		if i.Status == "" {
			superseded[i.Supersedes] = true
		}
	}
	var out []Scope
	for _, q := range queries {
		name := strings.TrimSuffix(q.Bank+"@"+q.Branch, "@")
		at := slices.IndexFunc(out, func(s Scope) bool { return s.Name == name })
		if at < 0 {
			at = len(out)
			s := Scope{Name: name}
			for _, i := range items {
				if i.Bank == q.Bank && (i.Branch == "" || i.Branch == q.Branch) && i.Status == "" && !superseded[i.ID] {
					s.Docs = append(s.Docs, rank.Doc{ID: i.ID, Title: i.Title, Speaker: i.Speaker, Body: i.Body,
						About: strings.Join(i.Tags, " "), Time: i.At, Group: i.Group, Pos: i.Pos})
				}
			}
			out = append(out, s)
		}
		for _, id := range q.Relevant {
			if !slices.ContainsFunc(out[at].Docs, func(d rank.Doc) bool { return d.ID == id }) {
				return nil, fmt.Errorf("%s: %q wants %s, which can't be seen there", name, q.Text, id)
			}
		}
		out[at].Queries = append(out[at].Queries, Query{Text: q.Text, Kind: q.Kind, Relevant: q.Relevant})
	}
	return out, nil
}

func lines[T any](file string) (out []T, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// Embed gives all documents and queries their vectors. progress, if not nil, hears how many of how many texts are done.
func Embed(ctx context.Context, e memory.Embedder, scopes []Scope, progress func(done, all int)) error {
	var texts []string
	var places []*[]float32
	for i := range scopes {
		for j := range scopes[i].Docs {
			d := &scopes[i].Docs[j]
			texts, places = append(texts, Text(*d)), append(places, &d.Vector)
		}
		for j := range scopes[i].Queries {
			q := &scopes[i].Queries[j]
			texts, places = append(texts, q.Text), append(places, &q.Vector)
		}
	}
	const batch = 64
	for from := 0; from < len(texts); from += batch {
		to := min(from+batch, len(texts))
		vectors, err := e.Embed(ctx, texts[from:to])
		if err != nil {
			return err
		}
		for i, v := range vectors {
			*places[from+i] = v
		}
		if progress != nil {
			progress(to, len(texts))
		}
	}
	return nil
}

// Text is what of a document is embedded, and what of it stands in a block.
func Text(d rank.Doc) string {
	text := d.Body
	if name := d.Speaker + d.Title; name != "" {
		text = name + ": " + text
	}
	if d.Speaker != "" && d.About != "" { // a caption; the tags of notes say nothing to a model
		text += " [" + d.About + "]"
	}
	return text
}
