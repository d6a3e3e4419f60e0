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
	wants(t, "with a remote", p.learn(0, "doctor").out, "$HINDSIGHT_URL is set")
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

func TestDoctorSeesAnIncompleteIndex(t *testing.T) {
	p := newPlace(t)
	p.mem("set", "workflow:w", "k", `"quokka"`, "--bank", "b")
	damage := func(sql string) {
		p.memory(func(ctx context.Context, db *dbfile.DB, _ *lanes.Store) error {
			return db.Write(ctx, func(tx *dbfile.Tx) error {
				_, err := tx.Exec(sql)
				return err
			})
		})
	}
	damage("DELETE FROM mem_fts")
	wants(t, "doctor", p.learn(cli.ExitFailed, "doctor").out, "WRONG  index", "0 rows for 1 item", "memory gc --reindex")
	damage("UPDATE mem_meta SET value = CAST('1' AS BLOB) WHERE name = 'index'")
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
