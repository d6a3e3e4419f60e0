package memory

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPathsOfFiles(t *testing.T) {
	one, two := fileTree{[]string{"notes"}}, fileTree{[]string{"a", "a/b", "user-1"}}
	for path, want := range map[string]filePlace{
		"/memories": {"notes", ""}, "/memories/": {"notes", ""}, "/memories/x": {"notes", "x"}, "/memories/x/": {"notes", "x"},
		"/memories/d/e/f.md": {"notes", "d/e/f.md"}, "/memories/a b…ü.md": {"notes", "a b…ü.md"}, "/memories/me@home": {"notes", "me@home"}, "/memories/a..b": {"notes", "a..b"},
	} {
		if got, err := one.parse(path); err != nil || got != want {
			t.Errorf("%q: %+v, %v", path, got, err)
		}
	}
	for path, want := range map[string]filePlace{
		"/memories": {}, "/memories/": {}, "/memories/a": {"a", ""}, "/memories/a/": {"a", ""}, "/memories/a/x": {"a", "x"}, "/memories/a/b": {"a/b", ""}, "/memories/a/b/x": {"a/b", "x"},
		"/memories/user-1/d/x": {"user-1", "d/x"},
	} {
		if got, err := two.parse(path); err != nil || got != want {
			t.Errorf("%q: %+v, %v", path, got, err)
		}
	}
	for _, tail := range []string{
		"..", "../x", "x/..", "x/../y", "x/../../etc/passwd", ".", "./x", "x/./y", "/x", "x//y", "//", "x//", ".hidden", "d/.hidden",
		`..\x`, `x\y`, `\`, `..\..\windows`, "%2e%2e", "%2e%2e%2fx", "..%2f..%2fx", "%252e%252e%252f", "x%00", "%c0%ae%c0%ae/", "x\x00y", "x\ny", "x\ty", "\u202egnp.x", "\u200b", "x\xff",
		" x", "x ", "d/ /x", "x\u00a0", "x@2", "d/x@17", strings.Repeat("x", maxFilePath+1),
	} {
		for _, path := range []string{"/memories/" + tail} {
			if got, err := one.parse(path); !errors.Is(err, InvalidName) {
				t.Errorf("%q is %+v, %v", path, got, err)
			}
		}
		if got, err := two.parse("/memories/a/" + tail); !errors.Is(err, InvalidName) {
			t.Errorf("%q in a bank is %+v, %v", tail, got, err)
		}
	}
	for _, path := range []string{"", "/", "x", "memories/x", "./memories/x", "//memories/x", "/memoriesx", "/memories..", "/Memories/x", "/etc/passwd", "C:/memories/x", `\memories\x`, "file:///memories/x", "~/x", "%2fmemories/x", "/memories\x00/x", " /memories/x"} {
		for _, tree := range []fileTree{one, two} {
			if got, err := tree.parse(path); !errors.Is(err, InvalidName) {
				t.Errorf("%q is %+v, %v", path, got, err)
			}
		}
	}
	for _, path := range []string{"/memories/c/x", "/memories/user-12/x", "/memories/user-/x", "/memories//x"} {
		if got, err := two.parse(path); !errors.Is(err, InvalidName) {
			t.Errorf("%q is %+v, %v", path, got, err)
		}
	}
}

// FuzzPaths: what is taken for a path is in one of the banks, is the name of a note, leads nowhere else, and is written as it
// was read.
func FuzzPaths(f *testing.F) {
	for _, seed := range []string{"/memories", "/memories/a/x", "/memories/../x", "/memories/%2e%2e/x", `/memories/..\x`, "/memories/a//x", "/memories/a/b/x@2", "/memories/a/\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, tree := range []fileTree{{[]string{"a"}}, {[]string{"a", "a/b", "%"}}} {
			at, err := tree.parse(path)
			if err != nil {
				if !errors.Is(err, InvalidName) || len(err.Error()) > 2000 || !printable(err.Error()) {
					t.Fatalf("%q: %q", path, err)
				}
				continue
			}
			if back := tree.path(at); back != strings.TrimSuffix(path, "/") {
				t.Fatalf("%q is written as %q", path, back)
			}
			if at.bank == "" && len(tree.banks) == 1 || at.bank != "" && !slices.Contains(tree.banks, at.bank) {
				t.Fatalf("%q is in bank %q", path, at.bank)
			}
			if at.name == "" {
				continue
			}
			if err := CheckName("an id", VersionID(at.name, 1_000_000_000)); err != nil || strings.ContainsAny(at.name, "\\%\x00") || at.bank == "" {
				t.Fatalf("%q is %+v, %v", path, at, err)
			}
			for part := range strings.SplitSeq(at.name, "/") {
				if part == "" || part[0] == '.' {
					t.Fatalf("%q is %+v", path, at)
				}
			}
			if id, version := PrimerOf(VersionID(at.name, 7)); id != at.name || version != 7 {
				t.Fatalf("version 7 of %q is %d of %q", at.name, version, id)
			}
		}
	})
}

// TestFreeFindsTheFirstNumber, in few looks.
func TestFreeFindsTheFirstNumber(t *testing.T) {
	for taken := range 70 {
		for first := 1; first <= taken+1; first++ {
			looks := 0
			got, err := free(first, func(n int) (bool, error) { looks++; return n <= taken, nil })
			if err != nil || got != taken+1 || looks > 14 {
				t.Errorf("from %d with %d taken: %d after %d looks, %v", first, taken, got, looks, err)
			}
		}
	}
}
