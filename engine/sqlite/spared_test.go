package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// One damaged run must not stop the others of its process, and must not go unseen either.
func TestDamageOfOneRunSparesOthers(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "runs.db")
	s := open(t, sqlite.Config{Path: path})
	var leases []engine.Lease
	for _, id := range []string{"bad", "good", "worse"} {
		r := start(t, s, id)
		leases = append(leases, r.lease)
		for i := range 3 {
			if _, err := s.Append(ctx, id, engine.Item{Event: core.Event{Kind: core.SignalReceived, Name: "go"}}); err != nil {
				t.Fatal(err)
			}
			effect := engine.Delivery{ID: fmt.Sprint(id, "/", i), Effect: cairn.Effect{Kind: "k"}}
			if err := r.commit(func(c *engine.Commit) { c.Effects = []engine.Delivery{effect} }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []column{{"inbox", "event", "blob"}, {"outbox", "kind", "text"}, {"runs", "version", "text"}} {
		where := map[string]string{"inbox": "id >> 32 <> 2", "outbox": "run <> 2", "runs": "no <> 2"}[c.table]
		if _, done := spoil(t, path, c, "iif("+where+", x'00ff', "+c.name+")"); !done {
			t.Fatal(c)
		}
	}

	items, err := s.Unread(ctx, leases[0].Owner)
	if err != nil || len(items) != 3 || items[0].Run != "good" {
		t.Errorf("Unread: %v, %v", items, err)
	}
	var due []string
	for range 3 {
		list, err := s.Due(ctx, time.Hour, 1)
		if err != nil || len(list) != 1 {
			t.Fatalf("Due: %v, %v", list, err)
		}
		due = append(due, list[0].ID)
	}
	if !slices.Equal(due, []string{"good/0", "good/1", "good/2"}) {
		t.Errorf("due: %v", due)
	}
	if list, err := s.Due(ctx, time.Hour, 1); !errors.Is(err, sqlite.Damaged) || len(list) != 0 {
		t.Errorf("Due with nothing whole left: %v, %v", list, err)
	}
	lost, err := s.Renew(ctx, leases, time.Minute)
	if err != nil || !slices.Equal(lost, []string{"bad", "worse"}) {
		t.Errorf("Renew: %v, %v", lost, err)
	}
	infos, err := s.Runs(ctx, engine.Query{})
	if err != nil || len(infos) != 3 {
		t.Fatalf("Runs: %v, %v", infos, err)
	}
	for _, info := range infos {
		if damaged := info.Failure != nil && info.Failure.Code == sqlite.Damaged; damaged != (info.ID != "good") {
			t.Errorf("run %s is listed with failure %v", info.ID, info.Failure)
		}
	}
}
