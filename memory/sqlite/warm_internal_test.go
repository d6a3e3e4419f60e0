package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn/memory"
)

// bench is a store whose clock a test moves, and what it is filled with.
type bench struct {
	*Store
	t    *testing.T
	path string
	now  time.Time
}

func newBench(t *testing.T, keys ...Key) *bench {
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "memory.db"), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.Store = b.open(keys...)
	return b
}

// open opens the same file once more.
func (b *bench) open(keys ...Key) *Store {
	b.t.Helper()
	s, err := Open(context.Background(), Config{Path: b.path, Clock: func() time.Time { return b.now }, Keys: keys, Synchronous: Normal})
	b.ok(err)
	b.t.Cleanup(func() { s.Close() })
	return s
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) save(id, body string) {
	b.t.Helper()
	_, _, err := b.SaveNote(context.Background(), memory.Note{Place: spot("w", "a"), ID: id, Body: body, Status: memory.Accepted})
	b.ok(err)
}

func spot(workflow, bank string, tags ...string) memory.Place {
	return memory.Place{Namespace: memory.Namespace{Kind: memory.WorkflowKind, ID: workflow}, Bank: bank, Tags: tags}
}

func recall(t *testing.T, s *Store, bank, text string, tags ...string) memory.Found {
	t.Helper()
	q := memory.Query{Bank: bank, Text: text, Budget: memory.Mid}
	if len(tags) > 0 {
		q.Filter = memory.Filter{tags}
	}
	found, err := s.Recall(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// warmTexts are what a store keeps in memory.
func warmTexts(s *Store) string {
	s.warm.mu.Lock()
	defer s.warm.mu.Unlock()
	var b strings.Builder
	for no, at := range s.warm.items {
		k := at.Value.(*known)
		fmt.Fprintln(&b, no, k.item, *k.entry)
	}
	for bank := range s.warm.homes {
		fmt.Fprintln(&b, "bank", bank)
	}
	if s.warm.used.Len() != len(s.warm.items) || (s.warm.size == 0) != (len(s.warm.items) == 0) {
		fmt.Fprintln(&b, "unequal", s.warm.used.Len(), len(s.warm.items), s.warm.size)
	}
	return b.String()
}

func TestWhatIsErasedIsErasedInMemory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	workflow := spot("w", "a").Namespace
	fact := func(value string) memory.Fact {
		return memory.Fact{Place: spot("w", "a"), Key: "k", Value: json.RawMessage(`"` + value + `"`)}
	}
	for name, erase := range map[string]func(b *bench) error{
		"forget": func(b *bench) error {
			_, err := b.Forget(ctx, workflow)
			return err
		},
		"forget an item": func(b *bench) error {
			_, err := b.ForgetItem(ctx, memory.Ref{Namespace: workflow, Lane: memory.NoteLane, ID: "n"})
			return err
		},
		"forget in another process": func(b *bench) error {
			other := b.open()
			_, err := other.Forget(ctx, workflow)
			recall(b.t, b.Store, "a", "anything")
			return err
		},
		"delete a thread": func(b *bench) error {
			_, err := b.DeleteThread(ctx, workflow, "t")
			return err
		},
		"trim a thread": func(b *bench) error {
			_, err := b.LimitTokens(ctx, workflow, "t", memory.Window{Last: 1})
			return err
		},
		"expire": func(b *bench) error {
			b.now = b.now.Add(2 * time.Hour)
			_, err := b.ExpireFacts(ctx, 10)
			return err
		},
		"delete a fact": func(b *bench) error {
			_, err := b.DeleteFact(ctx, workflow, "k")
			return err
		},
		"prune versions": func(b *bench) error {
			_, err := b.SetFact(ctx, fact("other"))
			b.ok(err)
			b.now = b.now.Add(time.Hour)
			_, err = b.PruneVersions(ctx, b.now, 10)
			return err
		},
		"close": func(b *bench) error { return b.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			switch { // what goes
			case strings.HasSuffix(name, "thread"):
				_, err := b.CreateThread(ctx, memory.Thread{Place: spot("w", "a"), ID: "t"})
				b.ok(err)
				for i, text := range []string{"A quokkasecret it is.", "The last one."} {
					_, err := b.Append(ctx, workflow, "t", memory.Message{ID: fmt.Sprint(i), Role: memory.User, Content: text})
					b.ok(err)
				}
			case strings.HasPrefix(name, "forget"), name == "close":
				b.save("n", "A quokkasecret it is.")
			default:
				f := fact("quokkasecret")
				f.Expires = b.now.Add(time.Hour)
				_, err := b.SetFact(ctx, f)
				b.ok(err)
			}
			if found := recall(t, b.Store, "a", "the quokkasecret"); len(found.Rows) == 0 {
				t.Fatal("it is not found")
			}
			if !strings.Contains(warmTexts(b.Store), "quokkasecret") {
				t.Fatal("nothing is kept: the test looks in the wrong place")
			}
			b.ok(erase(b))
			if left := warmTexts(b.Store); strings.Contains(left, "quokka") || strings.Contains(left, "unequal") {
				t.Errorf("left in memory: %s", left)
			}
			if strings.HasPrefix(name, "forget") && strings.Contains(warmTexts(b.Store), " ") && name != "forget in another process" {
				t.Error("after Forget something is left:", warmTexts(b.Store))
			}
		})
	}
}

// What goes by retention takes nothing else along.
func TestRetentionLeavesTheRestWarm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.save("n", "A koala stays.")
	_, err := b.SetFact(context.Background(), memory.Fact{Place: spot("w", "a"), Key: "k", Value: json.RawMessage(`"a koala goes"`)})
	b.ok(err)
	recall(t, b.Store, "a", "koala")
	_, err = b.DeleteFact(context.Background(), spot("w", "a").Namespace, "k")
	b.ok(err)
	if left := warmTexts(b.Store); !strings.Contains(left, "stays") || strings.Contains(left, "goes") {
		t.Error(left)
	}
}

// The same value under other tags, at another time, is another state of a fact.
func TestRecallsSeeWhatIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tag := range []string{"one", "two", "three"} {
		b.now = b.now.Add(time.Minute)
		_, err := b.SetFact(context.Background(), memory.Fact{Place: spot("w", "a", tag), Key: "k", Value: json.RawMessage(`"koala"`)})
		b.ok(err)
		found := recall(t, b.Store, "a", "koala")
		if len(found.Rows) != 1 || !slices.Equal(found.Rows[0].Tags, []string{tag}) || !found.Rows[0].Time.Equal(b.now) {
			t.Errorf("at %v with %s: %+v", b.now, tag, found.Rows)
		}
		found.Rows[0].Tags[0] = "of the caller" // whose list it is
		if again := recall(t, b.Store, "a", "koala", tag); !slices.Equal(again.Rows[0].Tags, []string{tag}) {
			t.Errorf("the tags are %v", again.Rows[0].Tags)
		}
	}
}

func TestRecallsOlderThanAnErasureBringNothingBack(t *testing.T) {
	t.Parallel()
	w := newWarm(warmth)
	secret := newKnown(mark{no: 1}, memory.Item{No: 1, Text: "quokkasecret"})
	w.meet(4)
	w.keep(4, []*known{secret})
	w.erase(5, []int64{1}, false)
	w.keep(4, []*known{secret})
	w.join("quokkabank", 4, []int64{1}, 1)
	if len(w.items) != 0 || len(w.homes) != 0 {
		t.Errorf("%d items and %d banks", len(w.items), len(w.homes))
	}
	if _, ok := w.through("a", 4); ok {
		t.Error("an older look is told which items a bank has")
	}
	w.meet(4) // which does not undo the fifth
	w.keep(5, []*known{secret})
	if len(w.items) != 1 {
		t.Error("what was read since is not kept")
	}
	w.join("a", 5, []int64{1, 3}, 3)
	if in, ok := w.sift("a", 5, 3, [][]int64{{1, 2}, {3}, {65}}); !ok || !slices.Equal(slices.Concat(in...), []int64{1, 3}) {
		t.Error(in, ok)
	}
	for _, unknown := range []struct{ erasures, through int64 }{{4, 3}, {6, 3}, {5, 4}} {
		if _, ok := w.sift("a", unknown.erasures, unknown.through, nil); ok {
			t.Errorf("items are told apart that are not known: %+v", unknown)
		}
	}
	w.erase(7, []int64{99}, false)
	if len(w.items) != 0 {
		t.Error("the sixth, of another process, was missed")
	}
	w.close()
	w.keep(7, []*known{secret})
	if len(w.items) != 0 {
		t.Error("a closed one keeps")
	}
}

func TestWarmIsBounded(t *testing.T) {
	t.Parallel()
	w := newWarm(100_000)
	for i := range int64(1000) {
		k := newKnown(mark{no: i}, memory.Item{No: i, Text: strings.Repeat("some words ", 20), Tags: []string{"scope:main"}})
		w.keep(0, []*known{k})
		w.take([]mark{{no: 0}}) // used again and again
	}
	if w.size > 100_000 || len(w.items) < 20 || w.used.Len() != len(w.items) {
		t.Errorf("%d bytes of %d items", w.size, len(w.items))
	}
	if list := w.take([]mark{{no: 0}, {no: 1}, {no: 999}, {no: 999, version: 1}, {no: 999, hash: []byte("x")}}); list[0] == nil || list[1] != nil || list[2] == nil || list[3] != nil || list[4] != nil {
		t.Error("the wrong ones were dropped, or taken")
	}
	w.keep(0, []*known{newKnown(mark{no: 5000}, memory.Item{No: 5000, Text: strings.Repeat("x", 200_000)})})
	if w.size > 100_000 {
		t.Errorf("%d bytes after a large one", w.size)
	}
	for i := range 100 {
		w.join(fmt.Sprint("bank", i), 0, []int64{int64(i)}, 100)
	}
	if len(w.homes) > maxHomes {
		t.Errorf("%d banks", len(w.homes))
	}
}

func TestEncryptedStoresRecallAsOthersAndKeepNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	plain, sealed := newBench(t), newBench(t, Key{ID: "one", Secret: slices.Repeat([]byte{7}, 32)})
	for _, b := range []*bench{plain, sealed} {
		rng := rand.New(rand.NewPCG(1, 1))
		w := &writer{rng: rng, stores: []*Store{b.Store}, bench: b}
		w.fill(600)
		for range 30 {
			_, err := b.SetFact(ctx, w.fact())
			b.ok(err)
			w.turn(b.Store)
		}
	}
	w := &writer{rng: rand.New(rand.NewPCG(2, 2))}
	for range 20 {
		text := w.words(6)
		for _, budget := range []memory.Budget{memory.Low, memory.Mid, memory.High} {
			q := memory.Query{Bank: "a", Text: text, Filter: memory.Filter{{"tag:1"}}, Budget: budget}
			want, err := plain.Recall(ctx, q)
			plain.ok(err)
			got, err := sealed.Recall(ctx, q)
			sealed.ok(err)
			if !reflect.DeepEqual(got, want) || len(got.Rows) == 0 {
				t.Fatalf("%s, %q:\n got %+v\nwant %+v", budget, text, got, want)
			}
		}
	}
	if found := recall(t, sealed.Store, "a", "common"); len(found.Rows) == 0 {
		t.Error("a word that most items have finds nothing")
	}
	if left := warmTexts(sealed.Store); left != "" {
		t.Error(left)
	}
}

// A store that has recalled before answers as one that was just opened, whatever is written in between, by it or by another
// process; a bank holds what its items say; and a term is held by what the index says of the bank.
func TestWarmRecallsAnswerAsFirstOnes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rng := rand.New(rand.NewPCG(seed, 1))
			w := &writer{rng: rng, stores: []*Store{b.Store, b.open()}, bench: b}
			w.fill(700)
			for range 40 {
				w.step()
				if rng.IntN(6) == 0 {
					b.now = b.now.Add(10 * time.Minute)
				}
				w.compare()
			}
		})
	}
}

// writer changes a file in any way, through any of the stores.
type writer struct {
	*bench
	rng    *rand.Rand
	stores []*Store
	notes  int
}

func (w *writer) words(n int) string {
	list := []string{"common"}
	for range n {
		list = append(list, fmt.Sprintf("word%d", int(40*w.rng.ExpFloat64())))
	}
	return strings.Join(list, " ")
}

func (w *writer) bank() string { return []string{"a", "a", "a", "b", "c", ""}[w.rng.IntN(6)] }

func (w *writer) place() memory.Place {
	return spot(fmt.Sprint("w", w.rng.IntN(3)), w.bank(), fmt.Sprint("tag:", w.rng.IntN(2)))
}

func (w *writer) note() memory.Note {
	w.notes++
	n := memory.Note{Place: w.place(), ID: fmt.Sprint("n", w.notes), Body: w.words(12), Status: memory.Accepted, Time: w.now}
	if w.rng.IntN(3) == 0 {
		n.Status = memory.Proposed
	}
	return n
}

func (w *writer) fact() memory.Fact {
	value := "common, and the same as before"
	if w.rng.IntN(2) == 0 {
		value = w.words(6)
	}
	return memory.Fact{Place: w.place(), Key: fmt.Sprint("k", w.rng.IntN(10)), Value: json.RawMessage(`"` + value + `"`),
		Expires: w.now.Add(time.Duration(1+w.rng.IntN(90)) * time.Minute)}
}

func (w *writer) fill(notes int) {
	var op memory.Operation
	for range notes {
		op.Notes = append(op.Notes, w.note())
	}
	_, err := w.stores[0].Apply(context.Background(), "fill", op)
	w.ok(err)
}

func (w *writer) step() {
	ctx, s := context.Background(), w.stores[w.rng.IntN(len(w.stores))]
	ns := w.place().Namespace
	var err error
	switch w.rng.IntN(13) {
	case 0, 1:
		_, _, err = s.SaveNote(ctx, w.note())
	case 2, 3, 4:
		_, err = s.SetFact(ctx, w.fact())
	case 5:
		_, err = s.DeleteFact(ctx, ns, fmt.Sprint("k", w.rng.IntN(10)))
	case 6:
		_, err = s.ForgetItem(ctx, memory.Ref{Namespace: ns, Lane: memory.NoteLane, ID: fmt.Sprint("n", 1+w.rng.IntN(w.notes))})
	case 7:
		_, err = s.CreateThread(ctx, memory.Thread{Place: w.place(), ID: fmt.Sprint("t", w.notes)})
		w.notes++
	case 8:
		_, err = s.Forget(ctx, ns)
	case 9:
		_, err = s.ExpireFacts(ctx, 5)
	case 10:
		err = s.Reindex(ctx)
	case 11:
		w.turn(s)
	case 12:
		if list, _, _ := s.Items(ctx, memory.Scope{Bank: "a", Lanes: []memory.Lane{memory.NoteLane}}, Page{Limit: 5}); len(list) > 0 {
			_, err = s.SetStatus(ctx, list[0].Namespace, list[0].ID, memory.Rejected)
		}
	}
	w.ok(err)
}

// turn adds to a thread, and now and then trims it.
func (w *writer) turn(s *Store) {
	ctx, ns, id := context.Background(), memory.Namespace{Kind: memory.UserKind, ID: "u"}, fmt.Sprint("t", w.rng.IntN(2))
	if _, err := s.GetThread(ctx, ns, id); err != nil {
		_, err := s.CreateThread(ctx, memory.Thread{Place: memory.Place{Namespace: ns, Bank: "a", Tags: []string{"tag:1"}}, ID: id})
		w.ok(err)
	}
	for range 4 {
		w.notes++
		_, err := s.Append(ctx, ns, id, memory.Message{ID: fmt.Sprint("m", w.notes), Role: memory.User, Content: w.words(8)})
		w.ok(err)
	}
	if w.rng.IntN(2) == 0 {
		_, err := s.LimitTokens(ctx, ns, id, memory.Window{Last: 3})
		w.ok(err)
	}
}

func (w *writer) compare() {
	w.t.Helper()
	first, err := Open(context.Background(), Config{Path: w.path, Clock: func() time.Time { return w.now }, ReadOnly: true})
	w.ok(err)
	defer first.Close()
	for _, bank := range []string{"a", "b", "c"} {
		text := w.words(5)
		for _, tags := range [][]string{nil, {"tag:1"}} {
			want := recall(w.t, first, bank, text, tags...)
			for i, s := range w.stores {
				if got := recall(w.t, s, bank, text, tags...); !reflect.DeepEqual(got, want) {
					w.t.Fatalf("store %d, bank %s, %q:\n got %+v\nwant %+v", i, bank, text, got, want)
				}
			}
		}
		for _, s := range w.stores {
			w.compareHolding(s, bank, strings.Fields(text))
		}
	}
	w.ok(w.stores[0].read(context.Background(), func(l *look) error {
		counts, err := column[string](l, "SELECT bank || items FROM mem_banks ORDER BY 1")
		w.ok(err)
		want, err := column[string](l, "SELECT bank || count(*) FROM mem_items WHERE bank <> '' GROUP BY bank ORDER BY 1")
		if !slices.Equal(counts, want) {
			w.t.Fatalf("counts of the banks: %v, want %v", counts, want)
		}
		return err
	}))
}

// compareHolding looks terms up in the whole index and in the bank.
func (w *writer) compareHolding(s *Store, bank string, terms []string) {
	w.t.Helper()
	w.ok(s.read(context.Background(), func(l *look) error {
		src := &source{store: s, look: l, scope: memory.Scope{Bank: bank}}
		w.ok(src.begin())
		src.size = src.numbers // however small the bank is
		if w.rng.IntN(4) == 0 {
			s.warm.mu.Lock()
			s.warm.empty()
			s.warm.mu.Unlock()
			for known := false; !known; {
				var err error
				known, err = src.settle(50)
				w.ok(err)
			}
		}
		lists, err := src.holding(terms)
		for i, term := range terms {
			want, err := l.holding(term, bank)
			w.ok(err)
			if !slices.Equal(lists[i], want) {
				w.t.Fatalf("%s is held by %v, want %v", term, lists[i], want)
			}
		}
		return err
	}))
}

func TestForgettingWhileOthersRecall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	var wait sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wait.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if _, err := b.Recall(ctx, memory.Query{Bank: "a", Text: "the quokkasecret of koalas", Budget: memory.Mid}); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for i := range 8 {
		b.save(fmt.Sprint("n", i), "A quokkasecret it is.")
		b.save("koala", "A text of koalas.")
		for !strings.Contains(warmTexts(b.Store), "quokkasecret") {
			recall(t, b.Store, "a", "quokkasecret")
		}
		if _, err := b.Forget(ctx, spot("w", "a").Namespace); err != nil {
			t.Fatal(err)
		}
		if left := warmTexts(b.Store); strings.Contains(left, "quokkasecret") {
			t.Fatal(left)
		}
	}
	close(done)
	wait.Wait()
}
