package sqlite_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/cairnrun/cairn/internal/recallset"
	"github.com/cairnrun/cairn/memory"
)

// TestRecallOfConversations asks the questions of LoCoMo through the store, each conversation a thread in a bank of its own:
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
		if _, err := f.CreateThread(f.ctx, memory.Thread{Place: memory.Place{Namespace: space("locomo"), Bank: s.Name}, ID: s.Name}); err != nil {
			t.Fatal(err)
		}
		var turns []memory.Message
		for _, d := range s.Docs {
			content := d.Body
			if d.About != "" {
				content += "\n" + d.About
			}
			turns = append(turns, memory.Message{ID: d.ID, Role: memory.Role(d.Speaker), Content: content})
		}
		if _, err := f.Append(f.ctx, space("locomo"), s.Name, turns...); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		budget     memory.Budget
		at10, at20 float64
	}{{memory.Low, .62, .68}, {memory.Mid, .70, .77}, {memory.High, .73, .79}} {
		var at10, at20, asked float64
		for _, s := range scopes {
			for i, q := range s.Queries {
				if len(q.Relevant) == 0 || i%4 != 0 { // a part of them is enough to tell
					continue
				}
				found, err := f.Recall(f.ctx, memory.Query{Bank: s.Name, Text: q.Text, Budget: want.budget, Limit: 20})
				if err != nil {
					t.Fatal(err)
				}
				asked++
				for rank, row := range found.Rows {
					if slices.ContainsFunc(q.Relevant, func(id string) bool {
						return row.ID == memory.Ref{Namespace: space("locomo"), Lane: memory.MessageLane, Thread: s.Name, ID: id}.String()
					}) {
						at20 += 1 / float64(len(q.Relevant))
						if rank < 10 {
							at10 += 1 / float64(len(q.Relevant))
						}
					}
				}
			}
		}
		text := fmt.Sprintf("%s: recall@10 %.3f, recall@20 %.3f of %.0f questions", want.budget, at10/asked, at20/asked, asked)
		if t.Log(text); at10/asked < want.at10 || at20/asked < want.at20 {
			t.Errorf("%s; want %.2f and %.2f", text, want.at10, want.at20)
		}
	}
}
