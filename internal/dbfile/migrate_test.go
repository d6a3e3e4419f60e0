package dbfile_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/cairnrun/cairn/internal/dbfile"
)

func scripts(script ...string) fs.FS {
	fsys := fstest.MapFS{"README.md": {Data: []byte("not a migration")}}
	for i, s := range script {
		fsys["000"+string(rune('1'+i))+"_x.sql"] = &fstest.MapFile{Data: []byte(s)}
	}
	return fsys
}

func TestMigrateComponentsSeparately(t *testing.T) {
	t.Parallel()
	db := open(t)
	memory := scripts("CREATE TABLE facts (id INTEGER)", "ALTER TABLE facts ADD COLUMN body TEXT")
	for range 2 { // the second time there is nothing to do
		if err := db.Migrate(t.Context(), "memory", memory); err != nil {
			t.Fatal(err)
		}
	}
	var versions string
	err := db.Read(t.Context(), func(tx *dbfile.ReadTx) error {
		return tx.QueryRow("SELECT group_concat(component || version ORDER BY component) FROM schema_version").Scan(&versions)
	})
	if err != nil || versions != "memory2,run1" {
		t.Errorf("versions are %q, %v", versions, err)
	}
}

func TestMigrateRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.Migrate(t.Context(), "memory", scripts("CREATE TABLE a (x)", "CREATE TABLE b (x)", "CREATE TABLE c (x)")); err != nil {
		t.Fatal(err)
	}
	err := db.Migrate(t.Context(), "memory", scripts("CREATE TABLE a (x)", "CREATE TABLE b (x)"))
	want(t, err, dbfile.ErrNewerSchema)
	if !contains(err, "version 3") || !contains(err, "version 2") {
		t.Errorf("%v does not name both versions", err)
	}
}

func TestMigrateFailureChangesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	before := state(t, db)
	bad := fstest.MapFS{"0001_items.sql": itemsSchema["0001_items.sql"],
		"0002_bad.sql": {Data: []byte("CREATE TABLE half (x); INSERT INTO items (body) VALUES ('x'); INSERT INTO nowhere VALUES (1);")}}
	err := db.Migrate(t.Context(), "run", bad)
	want(t, err, dbfile.ErrMigration)
	want(t, err, dbfile.ErrStatement)
	if !contains(err, "0002_bad.sql") {
		t.Errorf("%v does not name the script", err)
	}
	if after := state(t, db); after != before {
		t.Errorf("%s became %s", before, after)
	}
	want(t, db.Migrate(t.Context(), "other", scripts("CREATE TABLE y (x); COMMIT;")), dbfile.ErrMigration)
	if err := db.Write(t.Context(), insert("goes on")); err != nil {
		t.Error(err)
	}
}

func TestMigrateRefusesBadSequences(t *testing.T) {
	t.Parallel()
	db := open(t)
	file := &fstest.MapFile{Data: []byte("CREATE TABLE never (x)")}
	for name, fsys := range map[string]fs.FS{
		"gap":       fstest.MapFS{"0001_a.sql": file, "0003_c.sql": file},
		"duplicate": fstest.MapFS{"0001_a.sql": file, "0001_b.sql": file},
		"zero":      fstest.MapFS{"0000_a.sql": file},
		"words":     fstest.MapFS{"init.sql": file},
	} {
		if err := db.Migrate(t.Context(), "other", fsys); !errors.Is(err, dbfile.ErrMigration) {
			t.Errorf("%s: %v", name, err)
		}
	}
	want(t, db.Migrate(t.Context(), "", scripts()), dbfile.ErrMigration)
}
