package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
)

// indexVersion rises whenever indexed returns something else for the same text: the index is then made anew.
const indexVersion = 2

// indexed is what of a text goes into the index: the words that package rank tells apart, so that what a query finds here is
// what it is ranked by.
func indexed(text string) string { return strings.Join(rank.Terms(text), " ") }

// index adds an item to the full text index, unless texts are encrypted: an index is a copy of the text.
func (c *change) index(r *record) error {
	if c.ring.current != "" || r.lane == memory.ThreadLane {
		return nil
	}
	author := ""
	if r.lane == memory.MessageLane {
		author = r.kind
	}
	_, err := c.tx.Exec("INSERT INTO mem_fts (rowid, title, body, author, scope) VALUES (?, ?, ?, ?, ?)",
		r.no, indexed(string(r.title)), indexed(string(r.body)), indexed(author), spaceToken(r.space)+" "+bankToken(r.bank))
	return err
}

func (c *change) unindex(no int64) error {
	if c.ring.current != "" {
		return nil
	}
	_, err := c.tx.Exec("DELETE FROM mem_fts WHERE rowid = ?", no)
	return err
}

func spaceToken(space int64) string { return token("space", strconv.FormatInt(space, 10)) }

func bankToken(bank string) string { return token("bank", bank) }

// token is a word that no text has, so that terms need not be kept from the column scope, which would cost a look at every
// position. It is short and has digits alone, which the stemmer leaves as they are. Two names may share one: it only
// narrows, and the name itself is compared too.
func token(kind, name string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + name))
	return "0" + strconv.FormatUint(binary.BigEndian.Uint64(sum[:8]), 10)
}

// maxTerms bounds a match: SQLite refuses expressions that are too large.
const maxTerms = 200

// match is an expression of the full text index that finds what has any of the terms. Each is quoted, so that nothing in it
// is syntax. It is empty without terms.
func match(terms []string, scope ...string) string {
	var b strings.Builder
	n := 0
	for _, term := range terms {
		term = strings.ToValidUTF8(strings.ReplaceAll(term, "\x00", " "), " ")
		if strings.TrimSpace(term) == "" || n == maxTerms {
			continue
		}
		if n > 0 {
			b.WriteString(" OR ")
		}
		b.WriteString(`"` + strings.ReplaceAll(term, `"`, `""`) + `"`)
		n++
	}
	if n == 0 {
		return ""
	}
	out := "(" + b.String() + ")"
	for _, token := range scope {
		out += ` AND "` + token + `"`
	}
	return out
}

// refreshIndex makes the index anew when it was made by other rules, in pieces, so that other writers come in between.
func (s *Store) refreshIndex(ctx context.Context) error {
	if s.ring.current != "" {
		return nil
	}
	var version string
	err := s.read(ctx, func(l *look) error {
		list, err := column[string](l, "SELECT CAST(value AS TEXT) FROM mem_meta WHERE name = 'index'")
		if len(list) > 0 {
			version = list[0]
		}
		return err
	})
	want := strconv.Itoa(indexVersion)
	if err != nil || version == want {
		return err
	}
	return s.Reindex(ctx)
}

// indexPiece is how many items are indexed in one transaction.
const indexPiece = 500

// Reindex makes the full text index anew, a piece at a time. Searches meanwhile find what is in it already. Opening does it
// by itself when the rules of indexing have changed, and goes on with one that was interrupted.
func (s *Store) Reindex(ctx context.Context) error {
	if s.ring.current != "" {
		return nil
	}
	err := s.write(ctx, func(c *change) error {
		c.swept = true // what is known of banks was read from the index
		for _, q := range []string{"DELETE FROM mem_meta WHERE name = 'index'", "DELETE FROM mem_fts"} {
			if _, err := c.tx.Exec(q); err != nil {
				return err
			}
		}
		return nil
	})
	for after, done := int64(0), false; err == nil && !done; {
		err = s.write(ctx, func(c *change) error {
			list, err := c.records("WHERE i.no > ? ORDER BY i.no LIMIT ?", after, indexPiece)
			if err != nil {
				return err
			}
			c.swept = true
			for _, r := range list {
				after = r.no
				if err := c.unindex(r.no); err != nil { // a write in between may have been faster
					return err
				}
				if err := c.index(r); err != nil {
					return err
				}
			}
			if done = len(list) < indexPiece; done {
				_, err = c.tx.Exec("INSERT INTO mem_meta (name, value) VALUES ('index', ?)", []byte(strconv.Itoa(indexVersion)))
			}
			return err
		})
	}
	return err
}

// printable shortens a text for an error.
func printable(s string) string {
	if len(s) <= 60 {
		return s
	}
	n := 60
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
