package cli_test

import (
	"context"
	"os"
	"regexp"
	"testing"

	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// examined is a line of doctor --json.
type examined struct {
	Check, Text, Next string
	OK                bool
}

// wrong lists the checks that are not well.
func wrong(all []examined) (names []string) {
	for _, e := range all {
		if !e.OK {
			names = append(names, e.Check)
		}
	}
	return names
}

func TestDoctor(t *testing.T) {
	p := newPlace(t)
	wants(t, "without a database", p.learn(0, "doctor").out, "there is none yet")
	if len(p.files()) != 0 {
		t.Errorf("looking has written %v", p.files())
	}
	p.learn(cli.ExitRefused, "doctor", "--runs", "0")
	p.learn(0, "up", "learner", "--run-id", "r")
	well := p.canon(p.learn(0, "doctor").out)
	golden(t, "doctor.golden", regexp.MustCompile(`[\d.]+ kB`).ReplaceAllString(well, "SIZE"))
	t.Setenv("HINDSIGHT_URL", "http://127.0.0.1:1")
	wants(t, "with a remote that is away", p.learn(1, "doctor").out, "HINDSIGHT_UNAVAILABLE")
}

func TestDoctorSeesDegradedRecalls(t *testing.T) {
	p := newPlace(t)
	t.Setenv(memory.TimeoutEnv, "1ns")
	p.learn(0, "up", "learner", "--run-id", "r")
	got := p.learn(cli.ExitFailed, "doctor", "--json")
	all := lines[examined](t, got.out)
	if names := wrong(all); len(names) != 1 || names[0] != "recalls" {
		t.Fatalf("wrong are %v:\n%s", names, got.out)
	}
	wants(t, "doctor", p.learn(cli.ExitFailed, "doctor").out, "WRONG  recalls", "run r at last: timeout", "project-x timeout", "run events r --db")
	wants(t, "recall", p.learn(cli.ExitFailed, "memory", "recall", "quokka", "--bank", "project-x").err, "timeout")
	p.learn(0, "up", "learner", "--run-id", "s") // the newest one is as bad
	p.learn(cli.ExitFailed, "doctor", "--runs", "1")
}

// exec changes the place's file past the stores.
func (p place) exec(sql string) {
	p.memory(func(ctx context.Context, db *dbfile.DB, _ *lanes.Store) error {
		return db.Write(ctx, func(tx *dbfile.Tx) error {
			_, err := tx.Exec(sql)
			return err
		})
	})
}

func TestDoctorSeesAFailingOutbox(t *testing.T) {
	p := newPlace(t)
	p.learn(0, "up", "learner", "--run-id", "r")
	p.exec("INSERT INTO outbox (id, run, frame, place, due, tries, why, path, kind, body) VALUES ('e-1', 1, 1, 0, 0, 0, '', 'last', 'memory.retain', x'7b7d')")
	wants(t, "doctor", p.learn(0, "doctor").out, "ok  outbox       1 effect waiting, the first for ")
	wants(t, "forget", p.learn(0, "memory", "forget", "workflow:learner", "--yes").err, "1 write of runs still in the outbox may bring some of it back")
	p.exec("UPDATE outbox SET tries = 3, why = 'no route'")
	wants(t, "doctor", p.learn(cli.ExitFailed, "doctor").out, "WRONG  outbox       effect e-1 of kind memory.retain has failed 3 times: no route", "start or resume a run")
}

func TestDoctorSeesAnIncompleteIndex(t *testing.T) {
	p := newPlace(t)
	p.mem("set", "workflow:w", "k", `"quokka"`, "--bank", "b")
	p.exec("DELETE FROM mem_fts")
	wants(t, "doctor", p.learn(cli.ExitFailed, "doctor").out, "WRONG  index", "0 rows for 1 item", "memory gc --reindex")
	p.exec("UPDATE mem_meta SET value = CAST('1' AS BLOB) WHERE name = 'index'")
	wants(t, "doctor", p.learn(cli.ExitFailed, "doctor").out, "WRONG  index", "version 1, and this program searches by version")
	p.mem("gc", "--reindex")
	p.learn(0, "doctor")
	wants(t, "search", p.mem("search", "quokka", "--bank", "b").out, "«quokka»")
}

func TestDoctorSeesDamage(t *testing.T) {
	p := newPlace(t)
	p.learn(0, "up", "learner", "--run-id", "r")
	raw, err := os.ReadFile(p.db())
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096 * 6; i < 4096*9; i++ {
		raw[i] ^= 0x5a
	}
	if err := os.WriteFile(p.db(), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, "doctor", p.learn(cli.ExitFailed, "doctor").out, "WRONG  database")
}
