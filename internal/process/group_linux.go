package process

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// tie makes a command die with this process. The kernel ties its life to the thread that starts it, so that one has to stay
// until the returned function is called.
func tie(cmd *exec.Cmd) func() {
	Grouped(cmd)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// waitable returns when the process has ended, and leaves it to be waited for.
func waitable(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
