package sqlite_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/internal/recallset"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
)

// TestRecallOfConversations asks the questions of LoCoMo through the store, each conversation a bank of its sessions:
// what package rank reaches over documents in memory, the store has to reach over its index.
func TestRecallOfConversations(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks two thousand questions")
	}
	file := cmp.Or(os.Getenv("CAIRN_LOCOMO"), "../../../shared/data/locomo-dev.json")
	scopes, err := recallset.LoCoMo(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is absent; CAIRN_LOCOMO names another place", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	for _, s := range scopes {
		for _, d := range s.Docs {
			if _, err := f.CreateThread(f.ctx, memory.Thread{Place: memory.Place{Namespace: space("locomo"), Bank: s.Name}, ID: s.Name + d.Group}); err != nil && !errors.Is(err, memory.Exists) {
				t.Fatal(err)
			}
			turn := memory.Message{ID: d.ID, Role: memory.Role(d.Speaker), Content: contentOf(d)}
			if _, err := f.Append(f.ctx, space("locomo"), s.Name+d.Group, turn); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range scopes {
		s := &scopes[i]
		some := s.Queries[:0]
		for j, q := range s.Queries {
			if len(q.Relevant) > 0 && j%4 == 0 { // a part of them is enough to tell
				some = append(some, q)
			}
		}
		s.Queries = some
		for j, d := range s.Docs {
			s.Docs[j].Body, s.Docs[j].About, s.Docs[j].Time = contentOf(d), "", 0 // what a message has not
		}
	}
	for budget, effort := range map[memory.Budget]rank.Effort{memory.Low: rank.Low, memory.Mid: rank.Mid, memory.High: rank.High} {
		want, err := recallset.Measure(t.Context(), scopes, effort, "")
		if err != nil {
			t.Fatal(err)
		}
		var at10, at20, asked float64
		for _, s := range scopes {
			for _, q := range s.Queries {
				found, err := f.Recall(f.ctx, memory.Query{Bank: s.Name, Text: q.Text, Budget: budget, Limit: 20})
				if err != nil {
					t.Fatal(err)
				}
				asked++
				for place, row := range found.Rows {
					if slices.ContainsFunc(q.Relevant, func(id string) bool {
						return strings.HasSuffix(row.ID, " message "+id)
					}) {
						at20 += 1 / float64(len(q.Relevant))
						if place < 10 {
							at10 += 1 / float64(len(q.Relevant))
						}
					}
				}
			}
		}
		text := fmt.Sprintf("%s: recall@10 %.3f, recall@20 %.3f of %.0f questions; in memory %.3f and %.3f", budget, at10/asked, at20/asked, asked, want.At10, want.At20)
		if t.Log(text); at10/asked < want.At10-.02 || at20/asked < want.At20-.02 {
			t.Error(text)
		}
	}
}

// contentOf is a turn as a message's content.
func contentOf(d rank.Doc) string {
	if d.About == "" {
		return d.Body
	}
	return d.Body + "\n" + d.About
}
