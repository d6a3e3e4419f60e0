//go:build unix

package process

import (
	"os/exec"
	"sync"
	"syscall"
)

// members are the processes of a group. Its number is that of its leader, and nobody else's until that is reaped.
type members struct {
	mu sync.Mutex
	// reaped says that the number may be someone else's.
	reaped bool
}

// Grouped makes a command that is yet to be started, and all that it starts, one group.
func Grouped(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// KillGroup ends who is left of a group whose leader is dead and reaped, just now: members keep the number from being given
// away.
func KillGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

func (g *Group) start() error {
	Grouped(g.cmd)
	return g.cmd.Start()
}

// Terminate tells the group to end, with SIGTERM.
func (g *Group) Terminate() { g.signal(syscall.SIGTERM) }

// Kill ends the group.
func (g *Group) Kill() { g.signal(syscall.SIGKILL) }

// signal reaches whoever is left; nobody is no mistake.
func (g *Group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reaped {
		_ = syscall.Kill(-g.cmd.Process.Pid, s)
	}
}

// end waits for the leader and kills the rest.
func (g *Group) end() error {
	if !waitable(g.cmd.Process.Pid) {
		err := g.cmd.Wait()
		g.Kill()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.reaped = true
		return err
	}
	g.Kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reaped = true
	return g.cmd.Wait()
}
