package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cairnrun/cairn/memory"
)

// Forgotten is what Forget has removed, and how VerifyForgotten can tell.
type Forgotten struct {
	// Items is how many facts, threads, messages and notes, derived ones included.
	Items int
	// Names are their keys and ids, and the namespace's id, as far as nothing else is called so.
	Names []string
	// Words are words that only their texts had.
	Words []string
	// Documents are what the remote backend was told of and must delete: their deletions are queued as projections.
	Documents []string

	unverified bool // nobody will ask: Names and Words stay empty
}

// maxWords bounds the words that are kept for verifying.
const maxWords = 64

// Forget removes every trace of a namespace: items with all versions, index entries, tags, links, vectors, and what is queued
// for the remote backend. Documents that the backend may have get a deletion queued instead, which names them and nothing
// else. All of that is one transaction. Then the index is merged, which drops what it had only marked, in time proportional to
// its size but in pieces that let other writers through, and the -wal file is cut. In a file of memory's own deleted bytes
// are overwritten with zeros; in one that is shared with the runs that is up to whoever opened it. After an error of that
// second part the items are gone, and the next Open or Forget finishes it.
//
// A forgotten namespace may be written to again. An operation that was applied is still known as such and not repeated.
func (s *Store) Forget(ctx context.Context, ns memory.Namespace) (Forgotten, error) {
	if err := ns.Check(); err != nil {
		return Forgotten{}, err
	}
	return s.forget(ctx, func(c *change, f *Forgotten) error {
		space, err := c.space(ns)
		if err != nil || space == 0 {
			return err
		}
		items, err := column[int64](&c.look, "SELECT no FROM mem_items WHERE space = ?", space)
		if err != nil {
			return err
		}
		texts, err := c.versionTexts("v.space = ?", space)
		if err != nil {
			return err
		}
		f.Names = append(f.Names, ns.ID)
		if err := c.forgetItems(f, leaving{space: space, whole: true, history: "space = ?1"}, items, texts); err != nil {
			return err
		}
		if err := c.forgetDocuments(f, "space = ?", space); err != nil {
			return err
		}
		for _, q := range []string{"DELETE FROM mem_versions WHERE space = ?", "DELETE FROM mem_projections WHERE space = ?", "DELETE FROM mem_spaces WHERE no = ?"} {
			if _, err := c.tx.Exec(q, space); err != nil {
				return err
			}
		}
		return nil
	})
}

// ForgetItem removes every trace of one item, as Forget does of a namespace. With a thread go its messages; with a message
// the summaries that stand for it, whose other originals are live again; with a note the notes that are derived from it.
// Forgetting what is not there does nothing.
func (s *Store) ForgetItem(ctx context.Context, ref memory.Ref) (Forgotten, error) {
	if err := ref.Check(); err != nil {
		return Forgotten{}, err
	}
	return s.forget(ctx, func(c *change, f *Forgotten) error { return c.forgetItem(f, ref) })
}

func (c *change) forgetItem(f *Forgotten, ref memory.Ref) error {
	space, err := c.space(ref.Namespace)
	if err != nil || space == 0 {
		return err
	}
	r, err := c.referred(ref)
	if err != nil {
		return err
	}
	var items []int64
	if r != nil {
		if items, err = c.consequences(r.no); err != nil {
			return err
		}
	}
	var texts []string
	what := leaving{space: space, history: "0"}
	if ref.Lane == memory.FactLane { // which may be deleted and have versions
		if texts, err = c.versionTexts("v.space = ? AND v.name = ?", space, ref.ID); err != nil {
			return err
		}
		f.Names = append(f.Names, ref.ID)
		what.history, what.key = "space = ?1 AND name = ?3", ref.ID
	}
	refs := []memory.Ref{ref}
	for _, no := range items {
		r, err := c.record("WHERE i.no = ?", no)
		if err != nil {
			return err
		}
		refs = append(refs, r.ref())
	}
	if err := c.forgetItems(f, what, items, texts); err != nil {
		return err
	}
	for _, ref := range refs {
		raw, err := json.Marshal(ref)
		if err != nil {
			return err
		}
		if err := c.forgetDocuments(f, "space = ? AND item = ?", space, string(raw)); err != nil {
			return err
		}
		if _, err := c.tx.Exec("DELETE FROM mem_projections WHERE space = ? AND item = ?", space, string(raw)); err != nil {
			return err
		}
	}
	if ref.Lane == memory.FactLane {
		if err := c.dropHistory(space, ref.ID); err != nil {
			return err
		}
	}
	return c.dropEmptySpaces()
}

func (s *Store) forget(ctx context.Context, fn func(c *change, f *Forgotten) error) (f Forgotten, err error) {
	err = s.write(ctx, func(c *change) error {
		c.swept = true
		if err := fn(c, &f); err != nil {
			return err
		}
		_, err := c.tx.Exec("INSERT INTO mem_meta (name, value) VALUES ('purge', x'01') ON CONFLICT (name) DO NOTHING")
		return err
	})
	if err != nil {
		return Forgotten{}, err
	}
	slices.Sort(f.Documents)
	f.Documents = slices.Compact(f.Documents)
	return f, s.purge(ctx)
}

// purgePiece is how many pages of the index are merged in one transaction.
const purgePiece = 1000

// purge takes out of the index what is only marked as deleted, by merging all of its parts into one, a piece at a time, so that
// other writers come in between. Marking is what makes overwriting facts cheap. Opening goes on with a purge that a kill has
// interrupted.
func (s *Store) purge(ctx context.Context) error {
	for pages, done := -purgePiece, false; !done; pages = purgePiece {
		err := s.write(ctx, func(c *change) error {
			var before, after int64
			if err := c.QueryRow("SELECT total_changes()").Scan(&before); err != nil {
				return err
			}
			if _, err := c.tx.Exec("INSERT INTO mem_fts (mem_fts, rank) VALUES ('merge', ?)", pages); err != nil {
				return err
			}
			if err := c.QueryRow("SELECT total_changes()").Scan(&after); err != nil {
				return err
			}
			done = after-before < 2 // the command itself is one change
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := s.db.Checkpoint(ctx); err != nil {
		return err
	}
	return s.write(ctx, func(c *change) error {
		_, err := c.tx.Exec("DELETE FROM mem_meta WHERE name = 'purge'")
		return err
	})
}

// resumePurge purges if there is something left to.
func (s *Store) resumePurge(ctx context.Context) error {
	pending := false
	err := s.read(ctx, func(l *look) error {
		return l.QueryRow("SELECT EXISTS (SELECT 1 FROM mem_meta WHERE name = 'purge')").Scan(&pending)
	})
	if err != nil || !pending {
		return err
	}
	return s.purge(ctx)
}

// consequences are the items that go with one: itself, a thread's messages, summaries of what goes, notes derived from it.
func (c *change) consequences(no int64) ([]int64, error) {
	return column[int64](&c.look, `WITH RECURSIVE gone (no) AS (
			SELECT ?
			UNION SELECT i.no FROM gone g JOIN mem_items i ON i.thread = g.no
			UNION SELECT i.folded FROM gone g JOIN mem_items i ON i.no = g.no WHERE i.folded > 0
			UNION SELECT e.note FROM gone g JOIN mem_sources e ON e.source = g.no
		) SELECT no FROM gone`, no)
}

// leaving says what goes besides the items: all of a namespace, or the versions that history tells, of a fact's key.
type leaving struct {
	space   int64
	whole   bool
	history string // a condition on mem_versions: ?1 is the namespace, ?3 the key
	key     string
}

// forgetItems removes the items and remembers what can be searched for.
func (c *change) forgetItems(f *Forgotten, what leaving, items []int64, texts []string) error {
	going := map[int64]bool{}
	for _, no := range items {
		going[no] = true
	}
	names := f.Names
	for _, no := range items {
		r, err := c.record("WHERE i.no = ?", no)
		if err != nil {
			return err
		}
		names = append(names, r.name)
		texts = append(texts, string(r.title), string(r.body), string(r.data))
	}
	var words []string
	if f.unverified {
		names = nil
	} else {
		var err error
		if words, err = c.rareWords(texts, going); err == nil {
			words, err = c.onlyHere(words, what, items)
		}
		if err != nil {
			return err
		}
	}
	for _, no := range items {
		// What a summary stood for is live again, unless it goes too. Its place is free: the summary leaves it.
		originals, err := column[int64](&c.look, "SELECT no FROM mem_items WHERE folded = ?", no)
		if err != nil {
			return err
		}
		old, err := column[int64](&c.look, "SELECT old FROM mem_supersedes WHERE note = ?", no)
		if err != nil {
			return err
		}
		if err := c.remove(no); err != nil {
			return err
		}
		for _, note := range old { // it may be back, and an equal one is then the same again
			if err := c.settleSlots(note); err != nil {
				return err
			}
		}
		for _, original := range originals {
			if _, err := c.tx.Exec("UPDATE mem_items SET folded = 0 WHERE no = ?", original); err != nil {
				return err
			}
		}
	}
	f.Items += len(items)
	f.Words = append(f.Words, words...)
	f.Names = f.Names[:0]
	for _, name := range names {
		var others int
		err := c.QueryRow(`SELECT (SELECT count(*) FROM mem_items WHERE name = ?1)
			+ (SELECT count(*) FROM mem_versions WHERE name = ?1 AND space <> ?2) + (SELECT count(*) FROM mem_spaces s WHERE s.id = ?1 AND s.no <> ?2)`, name, what.space).Scan(&others)
		if err != nil {
			return err
		}
		if others == 0 && !slices.Contains(f.Names, name) {
			f.Names = append(f.Names, name)
		}
	}
	return nil
}

// rareWords picks words of at least four letters that no other item has.
func (c *change) rareWords(texts []string, going map[int64]bool) (rare []string, err error) {
	seen := map[string]bool{}
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
			if len(rare) == maxWords || len(seen) > 20*maxWords {
				return rare, nil
			}
			if len(word) < 4 || seen[word] || indexed(word) == "" { // or too common for the index
				continue
			}
			seen[word] = true
			elsewhere := false
			if c.ring.current == "" {
				numbers, err := column[int64](&c.look, "SELECT rowid FROM mem_fts WHERE mem_fts MATCH ? LIMIT ?", match([]string{indexed(word)}), len(going)+1)
				if err != nil {
					return nil, err
				}
				elsewhere = slices.ContainsFunc(numbers, func(no int64) bool { return !going[no] })
			}
			if !elsewhere {
				rare = append(rare, word)
			}
		}
	}
	return rare, nil
}

func (c *change) versionTexts(conditions string, args ...any) (texts []string, err error) {
	versions, err := c.versions(conditions, args...)
	for _, v := range versions {
		texts = append(texts, string(v.body))
	}
	return texts, err
}

// forgetDocuments drops what is queued for documents, and queues their deletion.
func (c *change) forgetDocuments(f *Forgotten, conditions string, args ...any) error {
	documents, err := column[string](&c.look, "SELECT document FROM mem_documents WHERE "+conditions, args...)
	if err != nil {
		return err
	}
	for _, document := range documents {
		if err := c.enqueueDeletion(document); err != nil {
			return err
		}
	}
	f.Documents = append(f.Documents, documents...)
	return nil
}

// dropEmptySpaces deletes the rows of namespaces that have nothing left. One whose versions were collected stays: its
// high mark matters.
func (c *change) dropEmptySpaces() error {
	_, err := c.tx.Exec(`DELETE FROM mem_spaces WHERE high = 0 AND NOT EXISTS (SELECT 1 FROM mem_items i WHERE i.space = mem_spaces.no)
		AND NOT EXISTS (SELECT 1 FROM mem_versions v WHERE v.space = mem_spaces.no)
		AND NOT EXISTS (SELECT 1 FROM mem_projections q WHERE q.space = mem_spaces.no)
		AND NOT EXISTS (SELECT 1 FROM mem_documents d WHERE d.space = mem_spaces.no)`)
	return err
}

// onlyHere leaves those words that VerifyForgotten would find nowhere once the items are gone. It looks for them within other
// words and in every column, so what the index says is not enough: a path, a lane, or a longer word may have them too.
func (c *change) onlyHere(words []string, what leaving, items []int64) (rare []string, err error) {
	numbers, err := json.Marshal(items)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	const others = " NOT IN (SELECT value FROM json_each(?2))"
	stays := map[string]string{
		"mem_items": "no" + others, "mem_tags": "item" + others, "mem_vectors": "item" + others, "mem_fts_content": "id" + others, "mem_fts_docsize": "id" + others,
		"mem_versions": "NOT (" + what.history + ")", "mem_projections": "space NOT IN (0, ?1)", "mem_documents": "space NOT IN (0, ?1)",
		"mem_banks":    "bank IN (SELECT bank FROM mem_items WHERE no" + others + ")",
		"mem_fts_data": "0", "mem_fts_idx": "0", // they have the terms of all rows, and of no others
	}
	if what.whole { // what stays is found by an index: all that goes may be most of the file
		const elsewhere = "(SELECT no FROM mem_items WHERE space < ?1 OR space > ?1)"
		stays["mem_spaces"], stays["mem_items"] = "no <> ?1", "no IN "+elsewhere
		stays["mem_versions"] = "space < ?1 OR space > ?1"
		stays["mem_banks"] = "bank IN (SELECT bank FROM mem_items WHERE space < ?1 OR space > ?1)"
		for table, column := range map[string]string{"mem_tags": "item", "mem_vectors": "item", "mem_fts_content": "id", "mem_fts_docsize": "id"} {
			stays[table] = column + " IN " + elsewhere
		}
	}
	found := map[string]bool{}
	err = c.columns(func(table, name string) error {
		where := stays[table]
		if where == "" {
			where = "1"
		}
		for _, word := range words {
			for _, form := range slices.Compact([]string{word, strings.ToLower(word)}) {
				if found[word] || where == "0" {
					continue
				}
				has := false
				err := c.QueryRow(fmt.Sprintf(`SELECT EXISTS (SELECT 1 FROM "%s" WHERE (%s) AND instr(CAST("%s" AS BLOB), ?4) > 0 AND ?1 IS NOT NULL AND ?2 IS NOT NULL AND ?3 IS NOT NULL)`, table, where, name),
					what.space, string(numbers), what.key, []byte(form)).Scan(&has)
				if err != nil {
					return err
				}
				found[word] = has
			}
		}
		return nil
	})
	return slices.DeleteFunc(words, func(word string) bool { return found[word] }), err
}
