// Package sample writes the files that an example works on where nobody has given it others.
package sample

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Fill makes the directory if it is not there, and writes the files, by name, if it is empty. One that holds something else
// is left as it is: false. It may be called again after a process that has died in the middle: a file of which only the
// beginning is there is written anew, and any other stays.
func Fill(dir string, files map[string]string) (bool, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if _, ours := files[e.Name()]; !ours {
			return false, nil
		}
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		there, err := os.ReadFile(path)
		if err == nil && (len(there) >= len(content) || !bytes.HasPrefix([]byte(content), there)) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return false, err
		}
	}
	return true, nil
}
