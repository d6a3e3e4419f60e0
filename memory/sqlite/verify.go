package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// VerifyForgotten searches the whole file for what Forget has removed: every column of every table of memory, those inside
// the full text index included, for the words anywhere, the columns that hold names for the names, and the index itself for the
// words. MEMORY_RESIDUE names the tables in which something is left. Deletions that wait for the remote backend name their
// documents, and are no residue. Words can't be found in what is encrypted.
func (s *Store) VerifyForgotten(ctx context.Context, f Forgotten) error {
	var left []string
	err := s.read(ctx, func(l *look) error {
		err := l.columns(func(table, name string) error {
			found, err := l.residue(table, name, f)
			if found != "" {
				left = append(left, fmt.Sprintf("%s.%s has %s", table, name, found))
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, word := range f.Words {
			for _, lookup := range []struct{ sql, arg string }{
				{"SELECT count(*) FROM mem_fts WHERE mem_fts MATCH ?", match([]string{indexed(word)})},
				{"SELECT count(*) FROM mem_vocabulary WHERE term = ?", strings.ToLower(word)},
			} {
				var n int
				if err := l.QueryRow(lookup.sql, lookup.arg).Scan(&n); err != nil {
					return err
				}
				if n > 0 {
					left = append(left, fmt.Sprintf("the index knows %q", word))
				}
			}
		}
		return nil
	})
	if err == nil && len(left) > 0 {
		err = &cairn.Error{Code: memory.Residue, Message: strings.Join(left, "; "), Next: "forget it again; what was written since may say the same"}
	}
	return err
}

// columns calls fn with every column of every table of memory.
func (l *look) columns(fn func(table, name string) error) error {
	tables, err := column[string](l, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'mem\\_%' ESCAPE '\\' AND name NOT IN ('mem_fts', 'mem_vocabulary') ORDER BY name")
	if err != nil {
		return err
	}
	for _, table := range tables {
		columns, err := column[string](l, "SELECT name FROM pragma_table_info(?)", table)
		if err != nil {
			return err
		}
		for _, name := range columns {
			if err := fn(table, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameQueries count where something is called by a name.
var nameQueries = map[string]string{
	"mem_spaces.id":        "SELECT count(*) FROM mem_spaces WHERE id = ?",
	"mem_items.name":       "SELECT count(*) FROM mem_items WHERE name = ?",
	"mem_versions.name":    "SELECT count(*) FROM mem_versions WHERE name = ?",
	"mem_projections.item": "SELECT count(*) FROM mem_projections WHERE item <> '' AND ? IN (item ->> 'id', item ->> 'thread')",
	"mem_documents.item":   "SELECT count(*) FROM mem_documents WHERE item <> '' AND ? IN (item ->> 'id', item ->> 'thread')",
}

// residue returns what a column still has of it, "" if nothing.
func (l *look) residue(table, name string, f Forgotten) (string, error) {
	where := ""
	if table == "mem_projections" || table == "mem_documents" { // a deletion names its document
		where = " AND space <> 0"
	}
	if query := nameQueries[table+"."+name]; query != "" {
		for _, whole := range f.Names {
			var n int
			if err := l.QueryRow(query, whole).Scan(&n); err != nil {
				return "", err
			}
			if n > 0 {
				return fmt.Sprintf("the name %q", whole), nil
			}
		}
	}
	for _, word := range f.Words {
		for _, form := range []string{word, strings.ToLower(word)} {
			var n int
			err := l.QueryRow(fmt.Sprintf(`SELECT count(*) FROM "%s" WHERE instr(CAST("%s" AS BLOB), ?) > 0%s`, table, name, where), []byte(form)).Scan(&n)
			if err != nil {
				return "", err
			}
			if n > 0 {
				return fmt.Sprintf("the word %q", word), nil
			}
		}
	}
	return "", nil
}
