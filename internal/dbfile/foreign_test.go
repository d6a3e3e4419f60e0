package dbfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnrun/cairn/internal/dbfile"
)

func TestForeignFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	database := func(pragmas ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			raw := rawDB(t, path)
			defer raw.Close()
			for _, stmt := range append(pragmas, "CREATE TABLE theirs (x)") {
				if _, err := raw.Exec(stmt); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	content := func(b []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, create := range map[string]func(t *testing.T, path string){
		"text":         content([]byte("dear diary")),
		"zeros":        content(make([]byte, 8192)),
		"another id":   database("PRAGMA application_id = 5"),
		"no id":        database(),
		"WAL database": database("PRAGMA application_id = 5", "PRAGMA journal_mode = WAL"),
	} {
		for _, readOnly := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "a.db")
			create(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = dbfile.Open(t.Context(), dbfile.Config{Path: path, ApplicationID: testID, ReadOnly: readOnly})
			want(t, err, dbfile.ErrNotOurs)
			if !contains(err, path) {
				t.Errorf("%s: %v does not name the file", name, err)
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("%s: the file was changed, %v", name, err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
				t.Errorf("%s: the directory holds %q", name, left)
			}
		}
	}
}

func TestEmptyFileBecomesOurs(t *testing.T) {
	t.Parallel()
	open(t, func(c *dbfile.Config) {
		if err := os.WriteFile(c.Path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
}

// The id must be in the main file before the WAL is moved into it: that is all a later Open looks at.
func TestOursIsKnownWhileInUse(t *testing.T) {
	t.Parallel()
	db := open(t)
	again, err := dbfile.Open(t.Context(), dbfile.Config{Path: db.Path(), ApplicationID: testID})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	_, err = dbfile.Open(t.Context(), dbfile.Config{Path: db.Path(), ApplicationID: testID + 1})
	want(t, err, dbfile.ErrNotOurs)
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	db := open(t)
	path := db.Path()
	if err := db.Write(t.Context(), insert("x")); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, append(whole[:4096:4096], bytes.Repeat([]byte{0xA5}, len(whole)-4096)...), 0o600); err != nil {
		t.Fatal(err)
	}
	broken, err := dbfile.Open(t.Context(), dbfile.Config{Path: damaged, ApplicationID: testID})
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	want(t, broken.Write(t.Context(), insert("y")), dbfile.ErrCorrupt)
}
