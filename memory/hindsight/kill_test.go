package hindsight_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/hindsight"
	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
	"github.com/cairnrun/cairn/task"
)

// TestMain is the process that is killed, when the test asks for one.
func TestMain(m *testing.M) {
	if path := os.Getenv("CAIRN_MEMORY_RUNNER"); path != "" {
		if err := remember(path, os.Getenv("CAIRN_MEMORY_SERVER"), os.Getenv("CAIRN_MEMORY_LAST") != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runs is how many runs there are, each with two tasks that leave a digest.
const runs = 12

var learning = cairn.Workflow[int, string]{Name: "lesson", Result: "b", Render: func(_ *cairn.View, n int) cairn.Node {
	leaves := func(id cairn.Key[string]) cairn.Node {
		return task.Task[string]{ID: id, Do: func(context.Context) (string, error) { return fmt.Sprintf("lesson %d of %s", n, id), nil }}
	}
	return memory.Memory{Bank: "user-1", Recall: memory.RecallOff, Retain: memory.OnComplete, Children: cairn.Nodes{leaves("a"), leaves("b")}}
}}

// remember goes on with the runs, and tells what it does, line by line. The last process tells the server all there is.
func remember(path, server string, last bool) error {
	ctx := context.Background()
	clock := time.Now
	if last { // what a dead process holds is held no longer
		clock = func() time.Time { return time.Now().Add(10 * time.Minute) }
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Path: path, Clock: clock})
	if err != nil {
		return err
	}
	kept, err := lanes.Open(ctx, lanes.Config{DB: store.DB(), Clock: clock})
	if err != nil {
		return err
	}
	client, err := hindsight.New(hindsight.Config{URL: server})
	if err != nil {
		return err
	}
	backend := &hindsight.Backend{Local: kept, Client: client}
	rt := &memory.Runtime{Store: backend}
	e, err := engine.Open(ctx, engine.Config{Store: store, Workflows: []cairn.Definer{learning}, Middleware: []engine.Middleware{rt.Middleware},
		Deliver: map[string]engine.Deliver{memory.RetainKind: func(ctx context.Context, d engine.Delivery) error {
			fmt.Println("deliver", d.ID)
			err := rt.Deliver(ctx, d.ID, d.Effect.Kind, d.Effect.Body)
			fmt.Println("delivered", d.ID)
			return err
		}}})
	if err != nil {
		return err
	}
	p := &hindsight.Projector{Client: client, Queue: backend.Outbox(), First: time.Millisecond, Most: time.Millisecond, Idle: 5 * time.Millisecond}
	projecting, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(projecting, nil) }()
	for n := range runs {
		id := fmt.Sprint("r", n)
		run, err := e.Start(ctx, "lesson", []byte(fmt.Sprint(n)), engine.StartOptions{ID: id})
		if errors.Is(err, engine.RunExists) {
			run, err = e.Resume(ctx, id, engine.ResumeOptions{})
		}
		if errors.Is(err, engine.RunEnded) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println("run", id)
		if _, err := run.Wait(ctx); err != nil {
			return err
		}
		fmt.Println("ran", id)
	}
	fmt.Println("idle")
	for last {
		waiting, err := kept.Projections(ctx)
		if err != nil {
			return err
		}
		if info, err := kept.Notes(ctx, memory.Scope{Bank: "user-1"}); err != nil || len(waiting) == 0 && len(info) == 2*runs {
			stop()
			<-ended
			return errors.Join(err, e.Close(ctx))
		}
	}
	select {} // until it is killed
}

// TestKilledBetweenRetainAndRemote: processes are killed at any instant between a task's end, the outbox, the store and the
// server. In the end each digest is in the store once and was stored by the server once.
func TestKilledBetweenRetainAndRemote(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	fake := hindsighttest.NewServer("1.1.0")
	server := httptest.NewServer(fake)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "cairn.db")
	rng := rand.New(rand.NewPCG(7, 7))
	child := func(last bool) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CAIRN_MEMORY_RUNNER="+path, "CAIRN_MEMORY_SERVER="+server.URL)
		if last {
			cmd.Env = append(cmd.Env, "CAIRN_MEMORY_LAST=1")
		}
		return cmd
	}
	for range 12 {
		cmd := child(false)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var complaints strings.Builder
		cmd.Stderr = &complaints
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 1 + rng.IntN(9) {
			if !lines.Scan() {
				break
			}
			if lines.Text() == "idle" {
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
		}
		_ = cmd.Wait()
		if complaints.Len() > 0 {
			t.Fatal(complaints.String())
		}
	}
	if out, err := child(true).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stored := map[string]int{}
	for _, a := range fake.Applied() {
		stored[a.Item.Content]++
	}
	for n := range runs {
		for _, id := range []string{"a", "b"} {
			text := fmt.Sprintf("%s: lesson %d of %s", id, n, id)
			if stored[text] != 1 {
				t.Errorf("the server has stored %q %d times", text, stored[text])
			}
		}
	}
	if len(stored) != 2*runs {
		t.Errorf("the server has stored %d texts, want %d", len(stored), 2*runs)
	}
}
