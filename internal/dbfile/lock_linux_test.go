package dbfile_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// locks counts the POSIX locks on a file, as the kernel lists them.
func locks(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Skip("the kernel does not list locks: ", err)
	}
	return strings.Count(string(all), fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino))
}

// Reading a file's header and closing it would drop the locks that another DB of this process holds on it.
func TestSecondDBInProcessKeepsTheLocksOfTheFirst(t *testing.T) {
	t.Parallel()
	first := open(t)
	before := locks(t, first.Path())
	if before == 0 {
		t.Fatal("an open database has no lock")
	}
	for _, id := range []int32{testID, testID + 1} {
		second, err := dbfile.Open(t.Context(), dbfile.Config{Path: first.Path(), ApplicationID: id})
		if (err != nil) != (id != testID) {
			t.Fatal(err)
		}
		if err == nil {
			err = second.Close()
		}
		if after := locks(t, first.Path()); after != before {
			t.Errorf("%d locks became %d, %v", before, after, err)
		}
	}
}
