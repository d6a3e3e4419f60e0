package process_test

import (
	"os/exec"
	"testing"

	"github.com/cairnrun/cairn/internal/process"
)

func TestDead(t *testing.T) {
	self := process.Self()
	if process.Dead(self) {
		t.Errorf("the living count as dead: %+v", self)
	}
	elsewhere := self
	elsewhere.Host, elsewhere.PID = "elsewhere", 1<<30
	if process.Dead(elsewhere) {
		t.Error("a process of another host can't be known to be dead")
	}
	reused := self
	if reused.Started != "" {
		if reused.Started += "0"; !process.Dead(reused) {
			t.Error("a process id that was reused counts as alive")
		}
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip("no sleep command: ", err)
	}
	child := process.ID{Host: self.Host, PID: cmd.Process.Pid}
	if process.Dead(child) {
		t.Error("a running child counts as dead")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !process.Dead(child) {
		t.Error("a dead child counts as alive")
	}
}
