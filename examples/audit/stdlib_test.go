package audit

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standard is a directory of the standard library's source, which not every
// installation of Go brings along.
func standard(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the standard library takes seconds under the race detector")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no go command: %v", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no source of the standard library: %v", err)
	}
	return dir
}

func TestStandardLibrary(t *testing.T) {
	tests := []struct {
		tree, pkg string
		exported  int
		functions int
	}{
		{"encoding", "json", 30, 150},
		{"encoding", "hex", 5, 10},
		{"net", ".", 150, 500},
		{"net", "http", 200, 500},
		{"net", "netip", 40, 80},
	}
	trees := map[string]map[string]Analysis{}
	for _, test := range tests {
		if trees[test.tree] == nil {
			trees[test.tree] = byPath(t, standard(t, test.tree))
		}
		a, ok := trees[test.tree][test.pkg]
		if !ok {
			t.Errorf("%s/%s was not found", test.tree, test.pkg)
			continue
		}
		if !a.HasTests || a.Counts.Exported < test.exported || a.Counts.Functions < test.functions {
			t.Errorf("%s/%s: got tests %v, %+v", test.tree, test.pkg, a.HasTests, a.Counts)
		}
		// The standard library is documented, all but a few names.
		if a.Undocumented.Count*5 > a.Counts.Exported {
			t.Errorf("%s/%s: %d of %d names are undocumented", test.tree, test.pkg, a.Undocumented.Count, a.Counts.Exported)
		}
		if a.Longest[0].Lines < 20 || a.Longest[0].Lines > 1000 {
			t.Errorf("%s/%s: the longest function is %+v", test.tree, test.pkg, a.Longest[0])
		}
	}
	for tree, analyses := range trees {
		for path, a := range analyses {
			if a.ParseErrors.Count != 0 {
				t.Errorf("%s/%s: %v", tree, path, a.ParseErrors.Kept)
			}
		}
	}
}

func byPath(t *testing.T, dir string) map[string]Analysis {
	t.Helper()
	_, analyses := analyse(t, dir)
	found := map[string]Analysis{}
	for _, a := range analyses {
		found[a.Path] = a
	}
	return found
}

func TestStandardLibraryIsTheSameTwice(t *testing.T) {
	for _, name := range []string{"encoding", "net"} {
		dir := standard(t, name)
		firstJSON, firstReport := everything(t, dir)
		secondJSON, secondReport := everything(t, dir)
		if !bytes.Equal(firstJSON, secondJSON) || !bytes.Equal(firstReport, secondReport) {
			t.Errorf("two audits of %s differ", name)
		}
	}
}

// everything is all that an audit writes to the journal, and its report.
func everything(t *testing.T, dir string) (results, report []byte) {
	t.Helper()
	listing, analyses := analyse(t, dir)
	totals := Fold(listing, analyses)
	results, err := json.Marshal([]any{listing, analyses, totals})
	if err != nil {
		t.Fatal(err)
	}
	return results, Markdown(totals)
}

func BenchmarkStandardLibrary(b *testing.B) {
	for _, name := range []string{"encoding", "net"} {
		dir := standard(b, name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				listing, analyses := analyse(b, dir)
				Markdown(Fold(listing, analyses))
			}
		})
	}
}
