package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// TestMain is the writer that is killed when the test asks for one.
func TestMain(m *testing.M) {
	if path := os.Getenv("CAIRN_MEMORY_WRITER"); path != "" {
		if err := writeForEver(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// operation n writes one item of each lane.
func operation(n int) memory.Operation {
	return memory.Operation{
		Facts:       []memory.Fact{fact("count", fmt.Sprint(n)), fact(fmt.Sprint("k", n), "1")},
		Notes:       []memory.Note{note(fmt.Sprint("lesson number ", n))},
		Thread:      &memory.Thread{Place: place("b"), ID: "t"},
		Turns:       []memory.Message{user("", fmt.Sprint("turn ", n))},
		Projections: []memory.Projection{projection(fmt.Sprint("p", n), "d", 0)},
	}
}

func writeForEver(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Config{Path: path, Synchronous: sqlite.Normal})
	if err != nil {
		return err
	}
	done, err := s.GetFact(ctx, space("w"), "count")
	n := 0
	if err == nil {
		fmt.Sscan(string(done.Value), &n)
	}
	for {
		n++
		if _, err := s.Apply(ctx, fmt.Sprint("op-", n), operation(n)); err != nil {
			return err
		}
		fmt.Println(n)
		if n%10 == 0 {
			if _, err := s.ForgetItem(ctx, memory.Ref{Namespace: space("w"), Lane: memory.FactLane, ID: fmt.Sprint("k", n)}); err != nil {
				return err
			}
		}
	}
}

// A writer is killed again and again. What it has acknowledged is there, whole, and an operation that is delivered again does
// nothing.
func TestKilledWritersLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	acknowledged := 0
	for round := range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CAIRN_MEMORY_WRITER="+path)
		out := must(cmd.StdoutPipe())(t)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for i := 0; i < 5+7*round && lines.Scan(); i++ {
			fmt.Sscan(lines.Text(), &acknowledged)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it had acknowledged by then
			fmt.Sscan(lines.Text(), &acknowledged)
		}
		cmd.Wait()
		if complaints.Len() > 0 {
			t.Fatal(complaints.String())
		}

		s := must(sqlite.Open(t.Context(), sqlite.Config{Path: path, Synchronous: sqlite.Normal}))(t)
		var n int
		fmt.Sscan(string(must(s.GetFact(t.Context(), space("w"), "count"))(t).Value), &n)
		if n < acknowledged {
			t.Fatalf("%d of %d acknowledged operations are there", n, acknowledged)
		}
		equal(t, must(s.CountMessages(t.Context(), space("w"), "t"))(t), n)
		equal(t, len(must(s.Notes(t.Context(), inBank))(t)), n)
		equal(t, len(must(s.Projections(t.Context()))(t)), n)
		equal(t, len(must(s.Candidates(t.Context(), inBank, []string{"lesson"}, 10_000))(t)), n)
		equal(t, must(s.Apply(t.Context(), fmt.Sprint("op-", n), operation(n)))(t), false)
		st := must(s.Stats(t.Context()))(t)
		equal(t, st.Indexed, st.Facts+st.Messages+st.Notes)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var verdict string
		if err := raw(t, path).QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Fatalf("integrity_check: %q, %v", verdict, err)
		}
	}
}

// A reader in the middle of its read, or one that never ends, holds up no writer.
func TestReadsBlockNoWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("one"))
	list := must(f.Unembedded(f.ctx, inBank, "m", 1))(t)
	must(f.PutVectors(f.ctx, []memory.Vector{{Ref: list[0].Ref, Model: "m", Hash: list[0].Hash, Values: []float32{1}}}))(t)
	seen := 0
	f.ok(f.Vectors(f.ctx, inBank, "m", func(memory.Vector) error {
		seen++
		written := make(chan error)
		go func() { // while this read goes on
			_, _, err := f.SaveNote(f.ctx, note("two"))
			written <- err
		}()
		select {
		case err := <-written:
			return err
		case <-time.After(time.Minute):
			return fmt.Errorf("the writer waits")
		}
	}))
	equal(t, []int{seen, len(f.ids(inBank))}, []int{1, 2})
}

func TestReindexMakesTheSameIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fillAll(t, f)
	terms := []string{"a", "b", "c", "sum", "x"}
	before := must(f.Candidates(f.ctx, inBank, terms, 100))(t)
	for _, damage := range []string{"DELETE FROM mem_fts", "UPDATE mem_fts SET body = 'x'"} {
		db := raw(t, f.path)
		for _, q := range []string{damage, "UPDATE mem_meta SET value = x'30' WHERE name = 'index'"} {
			must(db.Exec(q))(t)
		}
		db.Close()
		f.reopen()
		equal(t, must(f.Candidates(f.ctx, inBank, terms, 100))(t), before)
	}
}
