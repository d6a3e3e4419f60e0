package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// child is what a process of the harness's own does: scenarios that measure memory or a kill need one.
func (s settings) child(role string) error {
	e, store, err := s.open("child")
	if err != nil {
		return err
	}
	switch role {
	case "exit":
		err = finish(e, "sequence", size{N: 1})
	case "long":
		began := time.Now()
		if err = finish(e, "sequence", size{N: s.tasks}); err == nil {
			fmt.Println(time.Since(began).Nanoseconds())
			fmt.Println(peak())
		}
	case "start":
		if err = finish(e, "sequence", size{N: s.tasks, Stop: true}); err == nil {
			return fmt.Errorf("the last task ended")
		}
	case "resume":
		runs, err := store.Runs(background, engine.Query{})
		if err != nil || len(runs) != 1 {
			return fmt.Errorf("%d runs: %w", len(runs), err)
		}
		run, err := e.Resume(background, runs[0].ID, engine.ResumeOptions{})
		if err != nil {
			return err
		}
		if _, err := run.Wait(background); err != nil {
			return err
		}
	}
	if err == nil {
		err = e.Close(background)
	}
	if err == nil {
		err = store.Close()
	}
	return err
}

// command starts this program again in a role.
func (s settings) command(role string, tasks int) *exec.Cmd {
	args := []string{"-child", role, "-dir", s.dir, "-tasks", strconv.Itoa(tasks)}
	if s.sync == sqlite.Normal {
		args = append(args, "-normal")
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// exit runs a program with one task, five times, and takes the quickest: the rest is the machine's.
func (s settings) exit() (time.Duration, string, error) {
	best := time.Hour
	for range 5 {
		began := time.Now()
		if err := s.command("exit", 1).Run(); err != nil {
			return 0, "", err
		}
		best = min(best, time.Since(began))
	}
	return best, "best of 5", nil
}

// long runs 1,000 and then 10,000 tasks, each in a process of its own.
func (s settings) long() (time.Duration, string, error) {
	var took [2]time.Duration
	var rss int64
	var size int64
	for i, tasks := range []int{1000, 10_000} {
		one := s
		one.dir = filepath.Join(s.dir, strconv.Itoa(tasks))
		if err := os.MkdirAll(one.dir, 0o755); err != nil {
			return 0, "", err
		}
		out, err := one.command("long", tasks).Output()
		if err != nil {
			return 0, "", err
		}
		var ns int64
		if _, err := fmt.Sscan(string(out), &ns, &rss); err != nil {
			return 0, "", err
		}
		took[i] = time.Duration(ns)
		size = bytes(filepath.Join(one.dir, "child.db"))
	}
	perStep := float64(took[1]) / 10 / float64(took[0])
	return took[1], fmt.Sprintf("%.2f × the step at 1,000; %d B a step; peak RSS %.1f MB", perStep, size/10_000, float64(rss)/1024), nil
}

// resume lets a process finish all tasks but the last, kills it there, and measures a new one from its start to the
// moment the last task starts again.
func (s settings) resume(tasks int) (time.Duration, string, error) {
	if _, err := untilLast(s.command("start", tasks+1)); err != nil {
		return 0, "", err
	}
	took, err := untilLast(s.command("resume", tasks+1))
	return took, "from exec", err
}

// untilLast starts a process, waits until it says that it is at the last task, and kills it. The time is from the
// start to the word.
func untilLast(cmd *exec.Cmd) (took time.Duration, err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	took = time.Since(began)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || !strings.HasPrefix(line, "at the last task") {
		return 0, fmt.Errorf("it said %q: %w", line, err)
	}
	return took, nil
}

// peak is the most memory this process has had resident, in KiB; 0 where the system does not tell.
func peak() int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}
