package sample

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFill(t *testing.T) {
	files := map[string]string{"a.txt": "all of a\n", "b.txt": "all of b\n"}
	for name, c := range map[string]struct {
		there, want map[string]string
		filled      bool
	}{
		"empty":                 {nil, files, true},
		"died in the middle":    {map[string]string{"a.txt": "all"}, files, true},
		"changed since":         {map[string]string{"a.txt": "another\n", "b.txt": "all of b\nand more\n"}, nil, true},
		"other files, ours too": {map[string]string{"a.txt": "all", "c.txt": ""}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "dir")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, content := range c.there {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if filled, err := Fill(dir, files); err != nil || filled != c.filled {
				t.Fatalf("%t, %v", filled, err)
			}
			if c.want == nil {
				c.want = c.there
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != len(c.want) {
				t.Fatalf("%v, %v", entries, err)
			}
			for name, want := range c.want {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
					t.Errorf("%s is %q, %v", name, got, err)
				}
			}
		})
	}
}
