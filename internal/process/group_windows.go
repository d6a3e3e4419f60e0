package process

import (
	"errors"
	"os/exec"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// members are the processes of a job. What the program starts before it is put into its job is not in it.
type members struct {
	mu  sync.Mutex
	job windows.Handle // 0 once it is closed
}

// Grouped does nothing here: a job is made when the program is there.
func Grouped(*exec.Cmd) {}

// KillGroup does nothing here: what a program outside of a job has started it has to end.
func KillGroup(*exec.Cmd) {}

func tie(*exec.Cmd) func() { return func() {} }

func (g *Group) start() error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
		LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, // so it ends with this process, too
	}}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return errors.Join(err, windows.CloseHandle(job))
	}
	if err := g.cmd.Start(); err != nil {
		return errors.Join(err, windows.CloseHandle(job))
	}
	if err := assign(job, g.cmd.Process.Pid); err != nil {
		return errors.Join(err, g.cmd.Process.Kill(), g.cmd.Wait(), windows.CloseHandle(job))
	}
	g.job = job
	return nil
}

func assign(job windows.Handle, pid int) error {
	leader, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(leader)
	return windows.AssignProcessToJobObject(job, leader)
}

// Terminate ends the group: there is no way to ask for it.
func (g *Group) Terminate() { g.Kill() }

// Kill ends the group.
func (g *Group) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// end waits for the leader and kills the rest.
func (g *Group) end() error {
	err := g.cmd.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = windows.CloseHandle(g.job)
	g.job = 0
	return err
}
