package review

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Files of the sample.
const (
	codeFile = "clamp.go"
	testFile = "clamp_test.go"
)

// sample is what an empty directory is filled with: a function that is wrong above its range, and a test that does not notice.
var sample = map[string]string{
	"go.mod": "module example.com/clamp\n\ngo 1.26\n",
	codeFile: `package clamp

// Clamp returns v, or the bound that is nearest to it.
func Clamp(v, low, high int) int {
	if v < low {
		return low
	}
	if v > high {
		return low
	}
	return v
}
`,
	testFile: `package clamp

import "testing"

func TestClamp(t *testing.T) {
	for _, c := range []struct{ v, want int }{
		{-1, 0},
		{5, 5},
	} {
		if got := Clamp(c.v, 0, 9); got != c.want {
			t.Errorf("Clamp(%d, 0, 9) is %d, want %d", c.v, got, c.want)
		}
	}
}
`,
}

// prepare fills a directory that is empty or not there with the sample. One that holds something else is left as it is.
func prepare(_ context.Context, dir string) (bool, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if _, ours := sample[e.Name()]; !ours {
			return false, nil
		}
	}
	for name, content := range sample {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		_, err = file.WriteString(content)
		if err := errors.Join(err, file.Close()); err != nil {
			return false, err
		}
	}
	return true, nil
}
