//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

func host() string {
	name, _ := os.Hostname()
	return name
}

// startOf can only ask whether the process is there: a reused id counts as alive, and its lease has to run out.
func startOf(pid int) (started string, exists bool) {
	err := syscall.Kill(pid, 0)
	return "", err == nil || !errors.Is(err, syscall.ESRCH)
}
