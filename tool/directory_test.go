package tool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn/tool"
)

// TestADirectoryByName is opened by the call and not before, is not held by anybody in between, and is told where it is missing.
func TestADirectoryByName(t *testing.T) {
	around := t.TempDir()
	t.Chdir(around)
	dir := filepath.Join(around, "later")
	for _, name := range []string{dir, "later"} {
		k := kitOf(t, doors["a name"](t, name, tool.ShellPolicy{})...)
		inputs := map[string]in{"fs_read": {"path": "f"}, "fs_list": {}, "fs_glob": {"pattern": "**"}, "fs_grep": {"pattern": "x"},
			"fs_write": {"path": "f", "text": "x\n"}, "fs_edit": {"path": "f", "old": "x", "new": "y"}, "shell_run": {"command": "true"}}
		missing := func() {
			t.Helper()
			for one := range k {
				k.refuses(t, one, inputs[one], tool.NoRoot, "the directory that this tool works in")
				if _, err := k.call(t.Context(), one, inputs[one]); err != nil && strings.Contains(err.Error(), around) {
					t.Errorf("%s tells where it is: %v", one, err)
				}
			}
			if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("a call has made the directory: %v", err)
			}
		}
		missing()
		write(t, filepath.Join(dir, "f"), "x\n")
		before := openFiles(t)
		for range 3 {
			k.want(t, "fs_read", in{"path": "f"}, "f: lines 1-1 of 1, 2 bytes in all\nx\n")
			k.want(t, "fs_write", in{"path": "f", "text": "x\n"}, "f: 2 bytes in place of 2")
			k.refuses(t, "fs_read", in{"path": "none"}, tool.NotFound)
		}
		if after := openFiles(t); after > before {
			t.Errorf("%d files were open, and are %d", before, after)
		}
		// Another directory takes its place: nothing of the first was kept.
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		missing()
		write(t, filepath.Join(dir, "f"), "new\n")
		k.want(t, "fs_read", in{"path": "f"}, "f: lines 1-1 of 1, 4 bytes in all\nnew\n")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "no directory")
		k.refuses(t, "fs_list", in{}, tool.NoRoot)
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	kitOf(t, tool.FilesIn("", tool.FileLimits{})...).refuses(t, "fs_list", in{}, tool.NoRoot)
}

// openFiles counts those of this process, where the system tells.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(all)
}

// TestSetsByOneNameLoseNothing: each render makes a set of its own, so edits side by side come from different ones.
func TestSetsByOneNameLoseNothing(t *testing.T) {
	const n = 20
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), text.String())
	var all sync.WaitGroup
	for i := range n {
		name := dir
		if i%2 == 1 {
			name = dir + "/."
		}
		k := kitOf(t, tool.FilesIn(name, tool.FileLimits{})...)
		all.Go(func() {
			if _, err := k.call(t.Context(), "fs_edit", in{"path": "f", "old": fmt.Sprintf("<%d>", i), "new": "done"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := content(t, filepath.Join(dir, "f")); got != strings.Repeat("done\n", n) {
		t.Errorf("edited to %q", got)
	}
	if left := tool.Locked(); left != 0 {
		t.Errorf("%d locks are left", left)
	}
}

// BenchmarkRead shows what opening the root in each call costs.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "f"), "text\n")
	for name, door := range doors {
		k := kitOf(b, door(b, dir, tool.ShellPolicy{})...)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := k.call(b.Context(), "fs_read", in{"path": "f"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
