//go:build !windows

package artifact

import (
	"errors"
	"os"
)

// syncDir brings the entries of a directory to disk: a rename is not durable without.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
