package dbfile_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// mount skips where the test may not mount; the page limit above covers the rest.
func mount(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skip("mounting a tmpfs: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFileSystemFull(t *testing.T) {
	dir := mount(t, "size=1m")
	db := open(t, func(c *dbfile.Config) { c.Path = filepath.Join(dir, "a.db") })
	big := strings.Repeat("x", 100<<10)
	stored := 0
	var err error
	for ; err == nil; stored++ {
		err = db.Write(t.Context(), insert(big[stored:]))
	}
	stored--
	want(t, err, dbfile.ErrDiskFull)
	want(t, db.Write(t.Context(), insert("y"+big)), dbfile.ErrDiskFull)
	if n := len(bodies(t, db)); n != stored {
		t.Errorf("%d rows, %d acknowledged", n, stored)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), insert("y"+big)); err != nil {
		t.Fatal(err)
	}
	if n := len(bodies(t, db)); n != stored+1 {
		t.Errorf("%d rows, %d acknowledged", n, stored+1)
	}
}

func TestReadOnlyFileSystem(t *testing.T) {
	dir := mount(t, "size=4m")
	path := filepath.Join(dir, "a.db")
	config := dbfile.Config{Path: path, ApplicationID: testID}
	db, err := dbfile.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.Migrate(t.Context(), "run", itemsSchema), db.Write(t.Context(), insert("x")), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err = dbfile.Open(t.Context(), config)
	if !errors.Is(err, dbfile.ErrReadOnly) && !errors.Is(err, dbfile.ErrCannotOpen) {
		t.Errorf("opening for writing: %v", err)
	}
	_, err = dbfile.Open(t.Context(), dbfile.Config{Path: filepath.Join(dir, "new.db")})
	want(t, err, dbfile.ErrCannotOpen)
	config.ReadOnly = true
	db, err = dbfile.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := len(bodies(t, db)); n != 1 {
		t.Errorf("%d rows", n)
	}
}
