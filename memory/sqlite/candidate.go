package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
)

// Candidates returns up to limit items in the scope that have any of the terms, the best first by BM25. Terms are text, never
// syntax: what is in them is split into words as the stored text was, and several words must stand next to each other. No
// terms find nothing. The scope holds before anything is counted against limit.
//
// Scores compare within one answer. In a file that is encrypted there is no index: the scope's items are read, opened and
// scored in memory, which takes time in proportion to the scope.
func (s *Store) Candidates(ctx context.Context, scope memory.Scope, terms []string, limit int) (list []memory.Item, err error) {
	if err := scope.Check(); err != nil || limit <= 0 {
		return nil, err
	}
	err = s.read(ctx, func(l *look) error {
		if s.ring.current != "" {
			list, err = l.scored(scope, terms, limit)
		} else {
			list, err = l.matching(scope, terms, limit)
		}
		return err
	})
	return list, err
}

// tokens are those that the index has with every item of the scope. none says that its namespace does not exist.
func (l *look) tokens(scope memory.Scope) (tokens []string, none bool, err error) {
	if scope.Bank != "" {
		tokens = append(tokens, bankToken(scope.Bank))
	}
	if scope.Namespace != (memory.Namespace{}) {
		space, err := l.space(scope.Namespace)
		if err != nil || space == 0 {
			return nil, err == nil, err
		}
		tokens = append(tokens, spaceToken(space))
	}
	return tokens, false, nil
}

func (l *look) matching(scope memory.Scope, terms []string, limit int) (list []memory.Item, err error) {
	rows, err := l.ranked(scope, terms, limit, recordColumns, l.now)
	if err != nil || rows == nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var rank float64
		r, err := l.scan(rows, &rank)
		if err != nil {
			return nil, err
		}
		list = append(list, r.item(-rank))
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	byScore(list)
	return list, nil
}

// ranked queries columns of the items in the scope that have any of the terms, and behind them the rank that the index gives, the
// best first. The rows are nil where nothing can be found.
func (l *look) ranked(scope memory.Scope, terms []string, limit int, columns string, columnArgs ...any) (*dbfile.Rows, error) {
	where, args, err := l.within(scope)
	if err != nil {
		return nil, err
	}
	tokens, none, err := l.tokens(scope)
	if err != nil || none {
		return nil, err
	}
	wanted := make([]string, len(terms))
	for i, term := range terms {
		wanted[i] = indexed(term)
	}
	expression := match(wanted, tokens...)
	if expression == "" {
		return nil, nil
	}
	// The index gives its rows by rank, and the joins only take some away: the query ends at the limit.
	return l.Query("SELECT "+columns+", f.rank FROM mem_fts f CROSS JOIN mem_items i ON i.no = f.rowid CROSS JOIN mem_spaces p ON p.no = i.space"+
		" WHERE mem_fts MATCH ? AND "+where+" ORDER BY f.rank LIMIT ?", slices.Concat(columnArgs, []any{expression}, args, []any{limit})...)
}

// byScore sorts the best first, and the newest first among equals.
func byScore(list []memory.Item) {
	slices.SortStableFunc(list, func(a, b memory.Item) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.Time.Compare(a.Time), cmp.Compare(b.No, a.No))
	})
}

// Neighbours returns what stands beside the items, within the scope and without them: the messages before and after a
// message in its thread, and what came from the same task of the same run as a fact or note, up to beside items of each.
// Each is in the answer once, in the order of the items.
func (s *Store) Neighbours(ctx context.Context, scope memory.Scope, items []memory.Item, beside int) (list []memory.Item, err error) {
	if err := scope.Check(); err != nil || beside <= 0 {
		return nil, err
	}
	err = s.read(ctx, func(l *look) error {
		where, args, err := l.within(scope)
		if err != nil {
			return err
		}
		seen := map[int64]bool{}
		for _, i := range items {
			seen[i.No] = true
		}
		for _, i := range items {
			queries := []struct {
				sql  string
				args []any
			}{{" AND i.thread = 0 AND i.run = ? AND i.path = ? AND i.no <> ? ORDER BY abs(i.no - ?), i.no LIMIT ?",
				[]any{i.Origin.Run, i.Origin.Path, i.No, i.No, beside}}}
			if i.Lane == memory.MessageLane {
				const sameThread = " AND i.lane = 'message' AND i.thread = (SELECT thread FROM mem_items WHERE no = ?)"
				queries[0].sql, queries[0].args = sameThread+" AND i.seq < ? ORDER BY i.seq DESC LIMIT ?", []any{i.No, i.Seq, beside}
				queries = append(queries, queries[0])
				queries[1].sql = sameThread + " AND i.seq > ? ORDER BY i.seq LIMIT ?"
			} else if i.Origin.Run == "" {
				continue
			}
			for _, q := range queries {
				records, err := l.records("WHERE "+where+q.sql, slices.Concat(args, q.args)...)
				if err != nil {
					return err
				}
				for _, r := range records {
					if !seen[r.no] {
						seen[r.no] = true
						list = append(list, r.item(0))
					}
				}
			}
		}
		return nil
	})
	return list, err
}

// Page asks for a part of a list.
type Page struct {
	// After is the Next of the page before, empty for the first one.
	After string
	// Limit is how many items, at most. Defaults to 100.
	Limit int
}

// cursor is where a page ends.
type cursor struct {
	At int64 `json:"at"`
	No int64 `json:"no"`
}

// Items lists what is in a scope, the newest first by Time. next is where the next page begins, empty at the end. What is
// written meanwhile moves nothing from one page to another: it is in a later page, if its time is, or in none.
func (s *Store) Items(ctx context.Context, scope memory.Scope, page Page) (list []memory.Item, next string, err error) {
	after := cursor{At: never, No: never}
	if page.After != "" {
		if err := json.Unmarshal([]byte(page.After), &after); err != nil {
			return nil, "", contradictory("the page begins after "+printable(page.After), "give what the page before has returned")
		}
	}
	limit := cmp.Or(max(page.Limit, 0), 100)
	err = s.read(ctx, func(l *look) error {
		where, args, err := l.within(scope)
		if err != nil {
			return err
		}
		records, err := l.records("WHERE "+where+" AND (i.at, i.no) < (?, ?) ORDER BY i.at DESC, i.no DESC LIMIT ?",
			slices.Concat(args, []any{after.At, after.No, limit})...)
		if err != nil {
			return err
		}
		for _, r := range records {
			list = append(list, r.item(0))
		}
		if len(records) == limit {
			last := records[limit-1]
			raw, err := json.Marshal(cursor{last.at, last.no})
			next = string(raw)
			return err
		}
		return nil
	})
	return list, next, err
}

// Item returns the item of a reference as searches would, whatever its status: NOT_FOUND, also when it has expired.
func (s *Store) Item(ctx context.Context, ref memory.Ref) (i memory.Item, err error) {
	err = s.read(ctx, func(l *look) error {
		r, err := l.referred(ref)
		if err != nil {
			return err
		}
		if r == nil || r.expires <= l.now {
			return notFound(string(ref.Lane), ref.Namespace, ref.ID)
		}
		i = r.item(0)
		return nil
	})
	return i, err
}

// referred returns the record of a reference, or nil.
func (l *look) referred(ref memory.Ref) (*record, error) {
	if err := ref.Check(); err != nil {
		return nil, err
	}
	var thread int64
	if ref.Lane == memory.MessageLane {
		t, err := l.named(ref.Namespace, memory.ThreadLane, 0, ref.Thread)
		if err != nil || t == nil {
			return nil, err
		}
		thread = t.no
	}
	return l.named(ref.Namespace, ref.Lane, thread, ref.ID)
}
