package sqlite_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

func projection(id, document string, version int64) memory.Projection {
	return memory.Projection{ID: id, Document: document, Version: version, Item: memory.Ref{Namespace: space("w")}, Body: []byte(fmt.Sprintf("%q", id))}
}

func due(t testing.TB, s *sqlite.Store) (ids []string) {
	t.Helper()
	for _, p := range must(s.Due(t.Context(), time.Minute, 100))(t) {
		ids = append(ids, p.ID)
	}
	return ids
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestProjectionsKeepTheOrderOfTheirDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", "1"))
	f.ok(f.Enqueue(f.ctx, projection("a1", "a", 0), projection("a2", "a", 0), projection("b1", "b", 0), projection("a1", "a", 0)))
	equal(t, due(t, f.Store), []string{"a1", "b1"})
	equal(t, due(t, f.Store), nil) // they are held
	f.clock.Advance(time.Minute)
	equal(t, due(t, f.Store), []string{"a1", "b1"}) // the holder has died
	f.ok(f.Fail(f.ctx, "a1", time.Hour, "503"))
	f.ok(f.Done(f.ctx, "b1"))
	f.clock.Advance(time.Hour - time.Millisecond)
	equal(t, due(t, f.Store), nil) // a2 waits for a1
	f.clock.Advance(time.Millisecond)
	p := must(f.Due(f.ctx, time.Minute, 1))(t)[0]
	equal(t, []any{p.ID, p.Tries, p.Why, p.Version, p.Body}, []any{"a1", 1, "503", 1, "a1"})
	f.ok(f.Done(f.ctx, "a1"))
	f.ok(f.Done(f.ctx, "a1"))
	equal(t, due(t, f.Store), []string{"a2"})
	// Ids that were done are up to the caller; versions are fenced.
	f.ok(f.Done(f.ctx, "a2"))
	f.ok(f.Enqueue(f.ctx, projection("late", "a", 1)))
	equal(t, len(must(f.Projections(f.ctx))(t)), 0)
	f.ok(f.Enqueue(f.ctx, projection("next", "a", 0)))
	equal(t, must(f.Projections(f.ctx))(t)[0].Version, 3)
	f.ok(f.Enqueue(f.ctx, memory.Projection{ID: "none", Document: "x", Item: memory.Ref{Namespace: space("gone")}, Body: []byte("1")}))
	equal(t, len(must(f.Projections(f.ctx))(t)), 1)
}

// Case 17: what can't be delivered is set aside, and does not try for ever.
func TestCase17DeadProjections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", "1"))
	f.ok(f.Enqueue(f.ctx, projection("a1", "a", 0), projection("a2", "a", 0), projection("b1", "b", 0)))
	f.ok(f.Dead(f.ctx, "a1", "422"))
	equal(t, due(t, f.Store), []string{"a2", "b1"}) // it holds up nobody
	f.ok(f.Retry(f.ctx, "a1"))
	st := must(f.Stats(f.ctx))(t)
	equal(t, []any{st.Waiting, st.Dead, st.Oldest}, []any{3, 0, start})
	f.ok(f.Dead(f.ctx, "a1", "422"))
	f.ok(f.Done(f.ctx, "a2"))
	list := must(f.Projections(f.ctx))(t)
	equal(t, []any{len(list), list[0].ID, list[0].Dead, list[0].Tries, list[0].Why}, []any{2, "a1", true, 2, "422"})
	// By now a newer version was delivered: trying again would put the old one over it.
	f.ok(f.Retry(f.ctx, "a1"))
	f.clock.Advance(time.Hour)
	equal(t, due(t, f.Store), []string{"b1"})
	equal(t, len(must(f.Projections(f.ctx))(t)), 1)
	f.ok(f.Drop(f.ctx, "b1"))
	refused(t, f.Drop(f.ctx, "b1"), memory.NotFound)
	refused(t, f.Retry(f.ctx, "b1"), memory.NotFound)
}

// Versions reach the backend in order, each at most once more than a caller was lost, whatever several processes do.
func TestProjectionsModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", "1"))
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		delivered := map[string]int64{}
		queued := map[string]int64{}
		var held []memory.Projection
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				d := fmt.Sprint(run, rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "document"))
				queued[d]++
				f.ok(f.Enqueue(f.ctx, projection(fmt.Sprintf("%s-%d-%d", d, queued[d], run), d, 0)))
			case 2:
				held = append(held, must(f.Due(f.ctx, time.Hour, 10))(t)...)
			case 3:
				if len(held) > 0 {
					p := held[0]
					held = held[1:]
					if p.Version != delivered[p.Document]+1 {
						rt.Fatalf("step %d: version %d of %s after %d", i, p.Version, p.Document, delivered[p.Document])
					}
					if rapid.Bool().Draw(rt, "works") {
						delivered[p.Document] = p.Version
						f.ok(f.Done(f.ctx, p.ID))
					} else {
						f.ok(f.Fail(f.ctx, p.ID, 0, "no"))
					}
				}
			case 4: // the process dies
				held = nil
				f.clock.Advance(time.Hour)
			}
		}
		f.clock.Advance(time.Hour)
		for {
			list := must(f.Due(f.ctx, time.Hour, 10))(t)
			if len(list) == 0 {
				break
			}
			for _, p := range list {
				if p.Version != delivered[p.Document]+1 {
					rt.Fatalf("version %d of %s after %d", p.Version, p.Document, delivered[p.Document])
				}
				delivered[p.Document] = p.Version
				f.ok(f.Done(f.ctx, p.ID))
			}
		}
		for d, n := range queued {
			if delivered[d] != n {
				rt.Fatalf("%s: %d of %d", d, delivered[d], n)
			}
		}
	})
}

func TestTwoProcessesGetNoProjectionTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.open()
	defer other.Close()
	f.set(fact("k", "1"))
	for i := range 40 {
		f.ok(f.Enqueue(f.ctx, projection(fmt.Sprint("p", i), fmt.Sprint("d", i), 0)))
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for i := range 8 {
		store := []*sqlite.Store{f.Store, other}[i%2]
		wg.Go(func() {
			for {
				list, err := store.Due(f.ctx, time.Hour, 3)
				if err != nil {
					t.Error(err)
				}
				if len(list) == 0 {
					return
				}
				mu.Lock()
				for _, p := range list {
					if seen[p.ID] {
						t.Errorf("%s twice", p.ID)
					}
					seen[p.ID] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	equal(t, len(seen), 40)
}
