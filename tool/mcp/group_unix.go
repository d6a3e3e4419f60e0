//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// grouped makes the program and all that it starts one group.
func grouped(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends who is left of it. The leader is dead and reaped; members keep the number from being given away.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
