//go:build unix && !linux

package process

import "os/exec"

// tie can do nothing here: a command outlives this process when that is killed.
func tie(*exec.Cmd) func() { return func() {} }

// waitable can't wait without reaping here: a group is killed by its number just after that.
func waitable(int) bool { return false }
