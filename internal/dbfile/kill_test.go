package dbfile_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// kill ends the process with SIGKILL and returns the lines it has written since.
func (p *process) kill(t *testing.T) (rest []string) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for p.lines.Scan() {
		rest = append(rest, p.lines.Text())
	}
	p.cmd.Wait()
	return rest
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	db := open(t)
	path := db.Path()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var acked []string
	for round := range 20 {
		p := child(t, "endless", path)
		for range 1 + round*3 {
			if !p.lines.Scan() {
				t.Fatal("the child has ended")
			}
			acked = append(acked, p.lines.Text())
		}
		acked = append(acked, p.kill(t)...)
		check(t, path)
	}
	db, err := dbfile.Open(t.Context(), dbfile.Config{Path: path, ApplicationID: testID})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stored := map[string]bool{}
	for _, body := range bodies(t, db) {
		stored[body] = true
	}
	for _, body := range acked {
		if !stored[body] {
			t.Errorf("acknowledged %q is lost", body)
		}
	}
	t.Logf("%d acknowledged, %d stored", len(acked), len(stored))
}

// A new file is created, stamped and switched to WAL; a kill anywhere leaves a file that opens again.
func TestKillWhileCreating(t *testing.T) {
	t.Parallel()
	for range 10 {
		path := t.TempDir() + "/a.db"
		p := child(t, "openclose", path)
		for exists := false; !exists; { // the file's first appearance is the earliest moment that matters
			_, err := os.Stat(path)
			exists = err == nil
			runtime.Gosched()
		}
		p.kill(t)
		db, err := dbfile.Open(t.Context(), dbfile.Config{Path: path, ApplicationID: testID})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMigrationKilledHalfWay(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := child(t, "diemigrating", db.Path())
	for p.lines.Scan() {
		t.Error(p.lines.Text())
	}
	if err := p.cmd.Wait(); err == nil || p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("child ended with %v", err)
	}
	if got := state(t, db); got != "version 2, 0 rows, tables items schema_version" {
		t.Fatalf("after the kill: %s", got)
	}
	if err := db.Migrate(t.Context(), "run", laterSchema("SELECT 1;")); err != nil {
		t.Fatal(err)
	}
	if got := state(t, db); got != "version 3, 1 rows, tables items most schema_version" {
		t.Fatalf("after migrating again: %s", got)
	}
}

// What a kill has left behind is cleared by the next clean Close, even when nobody used the DB in between.
func TestCloseClearsTheWALOfAKill(t *testing.T) {
	t.Parallel()
	db := open(t)
	path := db.Path()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p := child(t, "endless", path)
	if !p.lines.Scan() {
		t.Fatal("the child has ended")
	}
	p.kill(t)
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Fatal("the kill left no WAL: ", err)
	}
	child(t, "openclose", path).wait(t)
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the WAL is still there")
	}
}
