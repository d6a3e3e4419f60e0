package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// hit is an item found by search, as --json shows it.
type hit struct {
	Namespace memory.Namespace `json:"namespace"`
	// Kind is fact, message, note or digest.
	Kind   string        `json:"kind"`
	Thread string        `json:"thread,omitempty"`
	ID     string        `json:"id"`
	Bank   string        `json:"bank,omitempty"`
	Tags   []string      `json:"tags,omitempty"`
	Status memory.Status `json:"status,omitempty"`
	Time   time.Time     `json:"time"`
	Origin memory.Origin `json:"origin,omitzero"`
	Title  string        `json:"title,omitempty"`
	Text   string        `json:"text"`
	// Words is how many of the query's words it has, Highlights where they are in Text, in bytes.
	Words      int      `json:"words"`
	Highlights [][2]int `json:"highlights,omitempty"`
	// After continues the search behind this item.
	After string `json:"after"`
}

func hitOf(h lanes.Hit, query string) hit {
	return hit{Namespace: h.Namespace, Kind: kindOf(h.Item), Thread: h.Thread, ID: h.ID, Bank: h.Bank, Tags: h.Tags, Status: h.Status, Time: h.Time,
		Origin: h.Origin, Title: h.Title, Text: h.Text, Words: int(h.Score), Highlights: rank.Highlights(h.Text, query), After: h.After}
}

// kindOf is what recall calls an item.
func kindOf(i memory.Item) string {
	if i.Lane == memory.NoteLane && i.Type == memory.Episodic {
		return "digest"
	}
	return string(i.Lane)
}

// searchFlags are the flags of search.
type searchFlags struct {
	scoped
	kinds, statuses      []string
	since, before, after string
	limit                int
}

func (a *app) memorySearch() *cobra.Command {
	var f searchFlags
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find what has words of a query, in a bank or a namespace",
		Long: `Find what has any word of a query, in a bank or a namespace: what has more of the words first, newer before older. Words
are marked where they were found. Notes that do not count, because they are proposed, rejected, superseded or retired,
are found with --status.

The next page begins --after what this one ends with. What is written in between moves nothing to another page.`,
		Example: `memory search "flaky tests" --bank project-x
memory search runner --ns workflow:code-review --kind fact --kind note
memory search deploy --bank project-x --kind digest --since 7d --json`,
		Args: takes("QUERY"),
		RunE: func(c *cobra.Command, args []string) error {
			scope, err := f.narrowed()
			if err != nil {
				return err
			}
			if f.limit < 1 {
				return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--limit %d", f.limit), Next: "list at least one"}
			}
			return a.search(c.Context(), scope, args[0], f)
		},
	}
	f.flags(c, true)
	c.Flags().StringArrayVar(&f.kinds, "kind", nil, "only a fact, message, note or digest; may be repeated")
	c.Flags().StringArrayVar(&f.statuses, "status", nil, "notes that are proposed, accepted, rejected, or all (default: those that count)")
	c.Flags().StringVar(&f.since, "since", "", "nothing before: 2026-03-01, 2026-03-01T12:00:00Z, or 7d ago")
	c.Flags().StringVar(&f.before, "before", "", "only before")
	c.Flags().IntVar(&f.limit, "limit", 20, "the most items listed")
	c.Flags().StringVar(&f.after, "after", "", "begin behind the item that gave this")
	return c
}

// narrowed is the scope with all that limits it.
func (f *searchFlags) narrowed() (scope memory.Scope, err error) {
	if scope, err = f.scope(); err != nil {
		return scope, err
	}
	if scope.Statuses, err = choose(f.statuses); err != nil {
		return scope, err
	}
	if scope.Since, err = instantOf("since", f.since); err != nil {
		return scope, err
	}
	if scope.Before, err = instantOf("before", f.before); err != nil {
		return scope, err
	}
	lane := func(l memory.Lane) {
		if !slices.Contains(scope.Lanes, l) {
			scope.Lanes = append(scope.Lanes, l)
		}
	}
	for _, kind := range f.kinds {
		switch kind {
		case "fact", "message":
			lane(memory.Lane(kind))
		case "note":
			lane(memory.NoteLane)
			scope.Types = append(scope.Types, memory.Semantic, memory.Procedural)
		case "digest":
			lane(memory.NoteLane)
			scope.Types = append(scope.Types, memory.Episodic)
		default:
			return scope, &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("there is no kind %q", kind), Next: "use fact, message, note or digest"}
		}
	}
	if len(f.kinds) == 0 && len(f.statuses) > 0 { // only notes have one
		lane(memory.NoteLane)
	}
	return scope, nil
}

func (a *app) search(ctx context.Context, scope memory.Scope, query string, f searchFlags) error {
	var found []lanes.Hit
	if _, err := a.recollecting(ctx, func(m *lanes.Store) (err error) {
		found, err = m.Search(ctx, scope, rank.QueryTerms(query), lanes.Page{After: f.after, Limit: f.limit})
		return err
	}); err != nil {
		return err
	}
	hits := make([]hit, len(found))
	for i, h := range found {
		hits[i] = hitOf(h, query)
	}
	err := listing(a, hits, []string{"KIND", "NAMESPACE", "ID", "TIME", "TEXT"}, func(h hit) []string {
		id := h.ID
		if h.Thread != "" {
			id = h.Thread + "/" + short(id, keyShown)
		}
		kind := h.Kind
		if h.Status != "" && h.Status != memory.Accepted {
			kind += ", " + string(h.Status)
		}
		text := excerpt(h.Text, h.Highlights)
		if title := excerpt(h.Title, rank.Highlights(h.Title, query)); h.Title != "" && h.Title != h.ID {
			text = title + ": " + text
		}
		return []string{kind, h.Namespace.String(), id, h.Time.Format(clock), text}
	})
	if err == nil && !a.json && len(hits) == f.limit { // beside the table: scripts read it
		fmt.Fprintf(a.err, "cairn: there may be more: --after %s\n", hits[len(hits)-1].After)
	}
	return err
}

// maxExcerpt is how many bytes of a text are shown, with what stands before its first marked word.
const (
	maxExcerpt = 160
	ahead      = 40
)

// excerpt is a text in one line, from about its first marked word on, with «» around those.
func excerpt(text string, marks [][2]int) string {
	from := 0
	if len(marks) > 0 && marks[0][0] > ahead && len(text) > maxExcerpt {
		from = runeStart(text, marks[0][0]-ahead)
	}
	to := len(text)
	if to-from > maxExcerpt {
		to = runeStart(text, from+maxExcerpt)
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	at := from
	for _, m := range marks {
		if m[1] > to {
			break
		}
		b.WriteString(text[at:m[0]] + "«" + text[m[0]:m[1]] + "»")
		at = m[1]
	}
	b.WriteString(text[at:to])
	if to < len(text) {
		b.WriteString("…")
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// runeStart is the beginning of the rune at an offset.
func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
