package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn/memory"
)

func user(id, content string) memory.Message {
	return memory.Message{ID: id, Role: memory.User, Content: content}
}

func call(id string, calls ...string) memory.Message {
	return memory.Message{ID: id, Role: memory.Assistant, Content: "calling", Calls: calls}
}

func answer(id, of string) memory.Message {
	return memory.Message{ID: id, Role: memory.Tool, Content: "result", Answers: of}
}

func (f *fixture) thread(messages ...memory.Message) {
	f.t.Helper()
	must(f.CreateThread(f.ctx, memory.Thread{Place: place("b"), ID: "t"}))(f.t)
	must(f.Append(f.ctx, space("w"), "t", messages...))(f.t)
}

func (f *fixture) messages(w memory.Window) (ids []string) {
	f.t.Helper()
	for _, m := range must(f.Messages(f.ctx, space("w"), "t", w, 0))(f.t) {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestThreadsAreStrictlyOrderedUnderConcurrentWriters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 10 {
				list, err := f.Append(f.ctx, space("w"), "t", user(fmt.Sprintf("%d-%d", w, i), "x"), user(fmt.Sprintf("%d-%d-b", w, i), "y"))
				if err != nil || len(list) != 2 || list[1].Seq != list[0].Seq+1 {
					t.Errorf("%v, %v", list, err)
				}
			}
		})
	}
	wg.Wait()
	last := map[byte]string{}
	for i, m := range must(f.Messages(f.ctx, space("w"), "t", memory.Window{}, 0))(t) {
		if m.Seq != int64(i+1) {
			t.Fatalf("message %d has number %d", i, m.Seq)
		}
		if m.ID < last[m.ID[0]] {
			t.Errorf("%s comes after %s", m.ID, last[m.ID[0]])
		}
		last[m.ID[0]] = m.ID
	}
}

func TestAppendIsIdempotentById(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread(user("1", "a"), user("2", "b"))
	list := must(f.Append(f.ctx, space("w"), "t", user("2", "b"), user("3", "c"), user("1", "a")))(t)
	equal(t, []any{list[0].Seq, list[1].Seq, list[2].Seq}, []any{2, 3, 1})
	_, err := f.Append(f.ctx, space("w"), "t", user("4", "d"), user("2", "other"))
	refused(t, err, memory.Exists)
	equal(t, f.messages(memory.Window{}), []string{"1", "2", "3"}) // nothing half-written
	_, err = f.Append(f.ctx, space("w"), "none", user("1", "a"))
	refused(t, err, memory.NotFound)
	made := must(f.Append(f.ctx, space("w"), "t", user("", "x"), user("", "x")))(t)
	if made[0].ID == "" || made[0].ID == made[1].ID {
		t.Errorf("ids %q and %q", made[0].ID, made[1].ID)
	}
	equal(t, must(f.CountMessages(f.ctx, space("w"), "t"))(t), 5)
	_, err = f.CreateThread(f.ctx, memory.Thread{Place: place("other"), ID: "t"})
	refused(t, err, memory.Exists)
}

func TestWindowsAreTheNewest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread(memory.Message{ID: "s", Role: memory.System, Content: "rules"}, user("1", "aaaa"), call("2", "c1", "c2"), answer("3", "c1"), user("4", "x"), answer("5", "c2"), user("6", "bbbb"))
	for _, tt := range []struct {
		window memory.Window
		want   string
	}{
		{memory.Window{}, "s 1 2 3 4 5 6"},
		{memory.Window{Last: 1}, "6"},
		{memory.Window{Last: 2}, "6"}, // 5 has no call
		{memory.Window{Last: 5}, "2 3 4 5 6"},
		{memory.Window{Last: 2, KeepSystem: true}, "s 6"},
		{memory.Window{Bytes: 3}, ""},
		{memory.Window{Bytes: 4}, "6"},
		{memory.Window{Tokens: 1}, "6"},
		{memory.Window{Tokens: 3, Count: func(memory.Message) int { return 1 }}, "6"},
		{memory.Window{Bytes: 9, KeepSystem: true}, "s 6"},
	} {
		if got := strings.Join(f.messages(tt.window), " "); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.window, got, tt.want)
		}
	}
	page := must(f.Messages(f.ctx, space("w"), "t", memory.Window{Last: 2}, 3))(t)
	equal(t, []any{page[0].ID, page[1].ID}, []any{"s", "1"})
}

func TestLimitTokensTrimsTheOldEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread(memory.Message{ID: "s", Role: memory.System, Content: "rules"}, user("1", "quokka"), call("2", "c"), answer("3", "c"), user("4", "end"))
	equal(t, must(f.LimitTokens(f.ctx, space("w"), "t", memory.Window{Last: 3, KeepSystem: true}))(t), 3)
	equal(t, f.messages(memory.Window{}), []string{"s", "4"})
	equal(t, f.find(inBank, "quokka"), []string{})
	equal(t, must(f.LimitTokens(f.ctx, space("w"), "t", memory.Window{Last: 3, KeepSystem: true}))(t), 0)
	// Numbers go on, even when the end was trimmed.
	equal(t, must(f.LimitTokens(f.ctx, space("w"), "t", memory.Window{Bytes: 1}))(t), 2)
	equal(t, must(f.Append(f.ctx, space("w"), "t", user("5", "x")))(t)[0].Seq, 6)
}

func TestSummaryStandsForItsOriginals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread(memory.Message{ID: "s", Role: memory.System, Content: "rules"}, user("1", "quokka"), user("2", "b"), call("3", "c"), answer("4", "c"), user("5", "end"))
	sum := func(text string) func(context.Context, []memory.Message) (string, error) {
		return func(_ context.Context, old []memory.Message) (string, error) {
			for _, m := range old {
				text += " " + m.ID
			}
			return text, nil
		}
	}
	m := must(f.Summarize(f.ctx, space("w"), "t", 2, sum("wombat")))(t)
	equal(t, m.Content, "wombat 1 2") // 4 stays, and so does its call
	equal(t, *m.Summary, memory.Summary{First: 2, Last: 3, Count: 2})
	equal(t, f.messages(memory.Window{}), []string{"s", m.ID, "3", "4", "5"})
	equal(t, f.find(inBank, "quokka"), []string{})
	equal(t, f.find(inBank, "wombat"), []string{m.ID})
	originals := must(f.Originals(f.ctx, space("w"), "t", m.ID))(t)
	equal(t, []any{len(originals), originals[0].ID, originals[0].Content}, []any{2, "1", "quokka"})
	if m := must(f.Summarize(f.ctx, space("w"), "t", 2, sum("x")))(t); m != nil {
		t.Errorf("one message was summarized: %v", m)
	}
	must(f.Append(f.ctx, space("w"), "t", user("6", "x"), user("7", "y")))(t)
	second := must(f.Summarize(f.ctx, space("w"), "t", 1, sum("koala")))(t)
	equal(t, f.messages(memory.Window{}), []string{"s", second.ID, "7"})
	equal(t, must(f.Originals(f.ctx, space("w"), "t", m.ID))(t), originals) // still, through the first
	equal(t, must(f.Originals(f.ctx, space("w"), "t", second.ID))(t)[0].ID, m.ID)
	// An export has all of it.
	fresh := newFixture(t)
	must(fresh.Import(f.ctx, strings.NewReader(export(t, f.Store))))(t)
	equal(t, export(t, fresh.Store), export(t, f.Store))

	// Forgetting an original forgets what was made of it, and the others are live again.
	must(f.ForgetItem(f.ctx, memory.Ref{Namespace: space("w"), Lane: memory.MessageLane, Thread: "t", ID: "1"}))(t)
	equal(t, f.messages(memory.Window{}), []string{"s", "2", "3", "4", "5", "6", "7"})
}

func TestSummariesAreAllOrNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread(user("1", "a"), user("2", "b"), user("3", "c"))
	broken := errors.New("no model")
	_, err := f.Summarize(f.ctx, space("w"), "t", 1, func(context.Context, []memory.Message) (string, error) { return "", broken })
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	_, err = f.Summarize(f.ctx, space("w"), "t", 1, func(ctx context.Context, _ []memory.Message) (string, error) {
		must(f.LimitTokens(ctx, space("w"), "t", memory.Window{Last: 2}))(t) // meanwhile
		return "x", nil
	})
	refused(t, err, memory.VersionConflict)
	equal(t, f.messages(memory.Window{}), []string{"2", "3"})
}

func TestDeleteThreadLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread(user("1", "quokka"), user("2", "b"), user("3", "c"))
	must(f.Summarize(f.ctx, space("w"), "t", 1, func(context.Context, []memory.Message) (string, error) { return "wombat", nil }))(t)
	equal(t, must(f.DeleteThread(f.ctx, space("w"), "t"))(t), true)
	equal(t, must(f.DeleteThread(f.ctx, space("w"), "t"))(t), false)
	st := must(f.Stats(f.ctx))(t)
	equal(t, []int{st.Threads, st.Messages, st.Indexed}, []int{0, 0, 0})
}
