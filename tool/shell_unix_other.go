//go:build unix && !linux

package tool

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// confine refuses: only Linux takes the network away from a single process.
func confine(_ *syscall.SysProcAttr, network bool) error {
	if network {
		return nil
	}
	return noIsolation(errors.New("there are no network namespaces"))
}

// folder is the path, which may have become another folder's since it was opened.
func folder(dir *os.File, root *os.Root) string {
	if filepath.IsAbs(dir.Name()) {
		return dir.Name()
	}
	return filepath.Join(home(root), dir.Name())
}

func home(root *os.Root) string {
	path, err := filepath.Abs(root.Name())
	if err != nil {
		return root.Name()
	}
	return path
}
