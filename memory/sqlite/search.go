package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/memory"
)

// maxSearched is how many words of a search count: more are hardly typed, and each is a lookup.
const maxSearched = 32

// Hit is an item that a search has found.
type Hit struct {
	memory.Item
	// After continues the search behind this item, as Page.After.
	After string
}

// Search lists, for people and tools, all items in the scope that have any of the terms, which are text and never syntax. Those
// that have more of the terms come first, newer before older among equals: Item.Score is how many of them. That is a
// property of an item alone, so what is written between two pages moves no other item from one page to another. No terms
// find nothing. For what a task should know use Recall, which weighs.
func (s *Store) Search(ctx context.Context, scope memory.Scope, terms []string, page Page) (list []Hit, err error) {
	if err := scope.Check(); err != nil {
		return nil, err
	}
	after := position{Has: maxSearched + 1, At: never, No: never}
	if page.After != "" {
		if after, err = parsePosition(page.After); err != nil {
			return nil, err
		}
	}
	var wanted []string
	for _, term := range terms {
		if term = indexed(term); term != "" && !slices.Contains(wanted, term) && len(wanted) < maxSearched {
			wanted = append(wanted, term)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	limit := cmp.Or(max(page.Limit, 0), 100)
	err = s.read(ctx, func(l *look) error {
		if s.ring.current != "" {
			list, err = l.searchSealed(scope, wanted, after, limit)
		} else {
			list, err = l.searchIndex(scope, wanted, after, limit)
		}
		return err
	})
	return list, err
}

// position is where an item stands in the order of a search.
type position struct {
	Has    int
	At, No int64
}

func (p position) String() string { return fmt.Sprintf("%d.%d.%d", p.Has, p.At, p.No) }

func parsePosition(text string) (p position, err error) {
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &p.Has, &p.At, &p.No); err != nil || p.String() != text {
		return p, contradictory("the page begins after "+printable(text), "give what an item of the page before has as its After")
	}
	return p, nil
}

func (r *record) hit(has int) Hit {
	return Hit{Item: r.item(float64(has)), After: position{has, r.at, r.no}.String()}
}

// searchIndex counts in the index, and reads only what is on the page.
func (l *look) searchIndex(scope memory.Scope, terms []string, after position, limit int) (list []Hit, err error) {
	where, args, err := l.within(scope)
	if err != nil {
		return nil, err
	}
	tokens, none, err := l.tokens(scope)
	if err != nil || none {
		return nil, err
	}
	var each []string
	var matches []any
	for _, term := range terms {
		if expression := match([]string{term}, tokens...); expression != "" {
			each, matches = append(each, "SELECT rowid AS no FROM mem_fts WHERE mem_fts MATCH ?"), append(matches, expression)
		}
	}
	if len(each) == 0 {
		return nil, nil
	}
	rows, err := l.Query("WITH hits AS (SELECT no, count(*) AS has FROM ("+strings.Join(each, " UNION ALL ")+") GROUP BY no)"+
		" SELECT "+recordColumns+", h.has FROM hits h CROSS JOIN mem_items i ON i.no = h.no CROSS JOIN mem_spaces p ON p.no = i.space"+
		" WHERE "+where+" AND (h.has, i.at, i.no) < (?, ?, ?) ORDER BY h.has DESC, i.at DESC, i.no DESC LIMIT ?",
		slices.Concat(matches, []any{l.now}, args, []any{after.Has, after.At, after.No, limit})...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var has int
		r, err := l.scan(rows, &has)
		if err != nil {
			return nil, err
		}
		list = append(list, r.hit(has))
	}
	return list, rows.Close()
}

// searchSealed opens all items of the scope, as an encrypted file has no index.
func (l *look) searchSealed(scope memory.Scope, terms []string, after position, limit int) (list []Hit, err error) {
	where, args, err := l.within(scope)
	if err != nil {
		return nil, err
	}
	records, err := l.records("WHERE "+where+" ORDER BY i.at DESC, i.no DESC", args...)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		text, has := words(indexed(string(r.title))+"\n"+indexed(string(r.body))), 0
		for _, term := range terms {
			if wanted := words(term); len(wanted) > 0 && occurrences(text, wanted) > 0 {
				has++
			}
		}
		at := position{has, r.at, r.no}
		if has > 0 && cmp.Or(cmp.Compare(at.Has, after.Has), cmp.Compare(at.At, after.At), cmp.Compare(at.No, after.No)) < 0 {
			list = append(list, r.hit(has))
		}
	}
	slices.SortStableFunc(list, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return list[:min(limit, len(list))], nil
}
