package process

import (
	"context"
	"os/exec"
	"time"
)

// A Group is a program that runs, with all that it starts. On Unix it is a group of processes, on Windows a job; elsewhere
// only the program itself. A process that makes a group of its own leaves it.
type Group struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	members
}

// Start starts a command as the leader of a group of its own. On Linux the leader also dies with this process, however that
// ends. Whoever starts it calls Wait, and nobody calls cmd.Wait.
func Start(cmd *exec.Cmd) (*Group, error) {
	g := &Group{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer tie(cmd)()
		err := g.start()
		started <- err
		if err == nil {
			g.err = g.end()
		}
		close(g.done)
	}()
	if err := <-started; err != nil {
		<-g.done
		return nil, err
	}
	return g, nil
}

// Wait returns when the program has ended, and with it all of its group, with the error that exec.Cmd.Wait has. When the
// context ends before, the group is told to end and, after grace, killed; told says so.
func (g *Group) Wait(ctx context.Context, grace time.Duration) (told bool, err error) {
	select {
	case <-g.done:
		return false, g.err
	case <-ctx.Done():
	}
	g.Terminate()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-g.done:
	case <-timer.C:
		g.Kill()
		<-g.done
	}
	return true, g.err
}
