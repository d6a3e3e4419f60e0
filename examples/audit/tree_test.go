package audit

import (
	"os"
	"path/filepath"
	"testing"
)

// tree is a directory in the making: contents by slash-separated name.
type tree map[string]string

func (files tree) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// analyse reads every package of a tree with one file or more.
func analyse(t testing.TB, dir string) (Listing, []Analysis) {
	t.Helper()
	listing, err := List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var analyses []Analysis
	for _, p := range listing.Packages {
		a, err := Analyse(t.Context(), dir, p)
		if err != nil {
			t.Fatal(err)
		}
		analyses = append(analyses, a)
	}
	return listing, analyses
}

// analyseRoot is the analysis of the one package that a tree has, at its root.
func analyseRoot(t testing.TB, files tree) Analysis {
	t.Helper()
	_, analyses := analyse(t, files.write(t))
	if len(analyses) != 1 {
		t.Fatalf("got %d packages, want the one at the root", len(analyses))
	}
	return analyses[0]
}
