package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/storetest"
	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/task"
)

// baton is the state that the tests hand over.
type baton struct {
	At int `json:"at"`
}

// relay works in each of so many generations, and the last one gives the result.
func relay(generations int, body func(ctx context.Context, g int) (int, error)) cairn.Definer {
	return workflow(func(v *cairn.View) cairn.Node {
		at := handoff.Carried(v, baton{At: 1}).At
		do := func(ctx context.Context) (int, error) { return body(ctx, at) }
		if at == generations {
			return task.Task[int]{ID: second, Do: do}
		}
		return cairn.Nodes{task.Task[int]{ID: first, Do: do}, handoff.ContinueAsNew{State: baton{At: at + 1}}}
	})
}

func generation(_ context.Context, g int) (int, error) { return g, nil }

// infos lists the runs of a chain, in order.
func infos(t *testing.T, store engine.Store, id string) (all []engine.RunInfo) {
	t.Helper()
	for id != "" {
		info, err := store.Run(context.WithoutCancel(t.Context()), id)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info)
		id = info.Successor
	}
	return all
}

func TestChainOfRuns(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	var mu sync.Mutex
	var observed []string
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{relay(3, generation)}, Observe: func(run string, f *core.Frame) {
		mu.Lock()
		defer mu.Unlock()
		observed = append(observed, fmt.Sprintf("%s/%d", run, f.N))
	}})
	run := begin(t, e)
	out := wait(t, run, core.Finished)
	if out.Run != "r.3" || string(out.Result) != "3" {
		t.Fatalf("outcome %+v", out)
	}
	for i, info := range infos(t, store, "r") {
		want := engine.RunInfo{ID: []string{"r", "r.2", "r.3"}[i], Parent: []string{"", "r", "r.2"}[i], Successor: []string{"r.2", "r.3", ""}[i],
			Generation: i + 1, Status: []core.Status{core.Continued, core.Continued, core.Finished}[i]}
		if info.ID != want.ID || info.Parent != want.Parent || info.Successor != want.Successor || info.Generation != want.Generation || info.Status != want.Status || info.Owner.Token != "" {
			t.Errorf("run %d of the chain is %+v", i+1, info)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(observed, " "); got != "r/1 r/2 r/3 r.2/1 r.2/2 r.2/3 r.3/1 r.3/2" {
		t.Errorf("observed %s", got)
	}
	if out, err := e.Wait(t.Context(), "r"); err != nil || out.Run != "r.3" {
		t.Errorf("waiting for the first run gives %+v, %v", out, err)
	}
	if _, err := e.Resume(t.Context(), "r", engine.ResumeOptions{}); !errors.Is(err, engine.RunEnded) {
		t.Errorf("resuming a chain that has ended: %v", err)
	}
}

// replays exports a chain and replays it against today's code.
func replays(t *testing.T, store engine.Store, wf cairn.Definer, id string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := engine.Export(t.Context(), store, nil, id, &out); err != nil {
		t.Fatal(err)
	}
	report, err := engine.Replay(wf.Define(), bytes.NewReader(out.Bytes()))
	if err != nil || report.Divergence != nil {
		t.Fatalf("the export does not replay: %v, %v", err, report.Divergence)
	}
	return out.Bytes()
}

func TestChainIsExportedWhole(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	wf := relay(3, generation)
	wait(t, begin(t, open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})), core.Finished)
	file := replays(t, store, wf, "r")
	other := openStore(t, filepath.Join(t.TempDir(), "other.db"))
	if id, err := engine.Import(t.Context(), other, nil, bytes.NewReader(file)); err != nil || id != "r" {
		t.Fatalf("import of %s: %v", id, err)
	}
	for i, info := range infos(t, other, "r") {
		if want := infos(t, store, "r")[i]; info.ID != want.ID || info.Hash != want.Hash || info.Parent != want.Parent || info.Generation != want.Generation {
			t.Errorf("imported: %+v, want %+v", info, want)
		}
	}
	if !bytes.Equal(replays(t, other, wf, "r"), file) {
		t.Error("the import exports as something else")
	}
	if _, err := engine.Import(t.Context(), other, nil, bytes.NewReader(file)); !errors.Is(err, engine.RunExists) {
		t.Errorf("importing twice: %v", err)
	}
}

func TestHandoffIsRefused(t *testing.T) {
	loops := workflow(func(*cairn.View) cairn.Node { return handoff.ContinueAsNew{State: baton{}} })
	for name, c := range map[string]struct {
		render func(v *cairn.View) cairn.Node
		limit  int
		code   cairn.Code
		runs   int
	}{
		"endless": {func(*cairn.View) cairn.Node { return handoff.ContinueAsNew{State: baton{}} }, 3, cairn.TooManyGenerations, 3},
		"another type": {func(v *cairn.View) cairn.Node {
			return handoff.ContinueAsNew{State: fmt.Sprint(handoff.Carried(v, baton{}))}
		}, 3, cairn.StateType, 1},
		"bad input": {func(*cairn.View) cairn.Node { return handoff.ContinueAsNew{Input: []int{1}} }, 3, engine.InvalidInput, 1},
		"too large": {func(*cairn.View) cairn.Node { return handoff.ContinueAsNew{State: strings.Repeat("x", core.MaxState)} }, 3, cairn.StateTooLarge, 1},
		"no JSON":   {func(*cairn.View) cairn.Node { return handoff.ContinueAsNew{State: func() {}} }, 3, cairn.StateInvalid, 1},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
			e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{workflow(c.render)}, MaxGenerations: c.limit})
			out := wait(t, begin(t, e), core.Failed)
			if all := infos(t, store, "r"); len(all) != c.runs || out.Failure.Code != c.code || !errors.Is(out.Failure, c.code) {
				t.Errorf("%d runs, failure %v", len(all), out.Failure)
			}
			replays(t, store, workflow(c.render), "r")
		})
	}
	t.Run("taken id", func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{loops}, MaxGenerations: 1})
		other, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r.2"})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, other, core.Failed)
		e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{loops}})
		if out := wait(t, begin(t, e), core.Failed); out.Failure.Code != engine.RunExists {
			t.Errorf("failure %v", out.Failure)
		}
	})
}

// TestSuccessorThatDoesNotRenderBlocks: mended code goes on.
func TestSuccessorThatDoesNotRenderBlocks(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	broken := true
	wf := workflow(func(v *cairn.View) cairn.Node {
		if handoff.Generation(v) == 1 {
			return handoff.ContinueAsNew{}
		}
		if broken {
			panic("not written yet")
		}
		return task.Task[int]{ID: second, Do: do(1)}
	})
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
	if out := wait(t, begin(t, e), core.Blocked); out.Failure.Code != cairn.RenderPanicked || out.Run != "r" {
		t.Fatalf("outcome %+v", out)
	}
	broken = false
	run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, run, core.Finished)
}

// TestCarriedTypeChanges: code that reads another type than it was handed is told, and may be adopted.
func TestCarriedTypeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun := make(chan struct{})
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{relay(2, func(ctx context.Context, g int) (int, error) {
			if g == 2 {
				return hang(begun)(ctx)
			}
			return g, nil
		})}})
		begin(t, e)
		<-begun
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		type wider struct {
			At   int    `json:"at"`
			Note string `json:"note,omitempty"`
		}
		e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{workflow(func(v *cairn.View) cairn.Node {
			return task.Task[int]{ID: second, Do: do(handoff.Carried(v, wider{}).At * 10)}
		})}})
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out := wait(t, run, core.Blocked); out.Failure.Code != cairn.StateType || out.Run != "r.2" {
			t.Fatalf("outcome %+v", out)
		}
		if run, err = e.Resume(t.Context(), "r", engine.ResumeOptions{Adopt: true}); err != nil {
			t.Fatal(err)
		}
		if out := wait(t, run, core.Finished); string(out.Result) != "20" {
			t.Errorf("outcome %+v", out)
		}
	})
}

func TestInputAndKeptOutputsCross(t *testing.T) {
	const plan cairn.Key[string] = "plan"
	type in struct {
		N int `json:"n"`
	}
	planned := 0
	wf := cairn.Workflow[in, int]{Name: "w", Result: second, Render: func(v *cairn.View, in in) cairn.Node {
		nodes := cairn.Nodes{task.Task[string]{ID: plan, Do: func(context.Context) (string, error) { planned++; return "the plan", nil }}}
		if in.N == 1 {
			return append(nodes, task.Task[int]{ID: first, Do: do(1)}, handoff.ContinueAsNew{Keep: cairn.Keys{plan}, Input: struct {
				N int `json:"n"`
			}{2}})
		}
		return append(nodes, task.Task[int]{ID: second, From: task.From(func(v *cairn.View) string {
			if _, ok := first.Get(v); ok {
				t.Error("an output crossed that nothing names")
			}
			return plan.Must(v)
		}, func(_ context.Context, s string) (int, error) { return len(s), nil })})
	}}
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
	run, err := e.Start(t.Context(), "w", json.RawMessage(`{"n":1}`), engine.StartOptions{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if out := wait(t, run, core.Finished); string(out.Result) != "8" || planned != 1 {
		t.Errorf("result %s, planned %d times", out.Result, planned)
	}
	replays(t, store, wf, "r")
}

// TestInboxGoesOnAfterImport: what is sent to an imported run is not taken for what it had been sent elsewhere.
func TestInboxGoesOnAfterImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, other := openStore(t, filepath.Join(t.TempDir(), "cairn.db")), openStore(t, filepath.Join(t.TempDir(), "other.db"))
		begun := make(chan struct{})
		wf := relay(2, func(ctx context.Context, g int) (int, error) {
			if g == 1 {
				begun <- struct{}{}
				time.Sleep(time.Second) // virtual
			}
			return g, nil
		})
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
		run := begin(t, e)
		<-begun
		if err := e.Pause(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Paused)
		if _, err := engine.Import(t.Context(), other, nil, bytes.NewReader(replays(t, store, wf, "r"))); err != nil {
			t.Fatal(err)
		}
		e = open(t, engine.Config{Store: other, Workflows: []cairn.Definer{wf}})
		if err := e.Cancel(t.Context(), "r", "enough"); err != nil {
			t.Fatal(err)
		}
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.CancelledRun)
	})
}

// TestAskingReachesTheSuccessor: what is sent to the first run is for the last.
func TestAskingReachesTheSuccessor(t *testing.T) {
	for _, ask := range []string{"cancel", "pause"} {
		synctest.Test(t, func(t *testing.T) {
			begun := make(chan struct{})
			e := open(t, engine.Config{Workflows: []cairn.Definer{relay(2, func(ctx context.Context, g int) (int, error) {
				if g == 1 {
					return 1, nil
				}
				return hang(begun)(ctx)
			})}})
			run := begin(t, e)
			<-begun
			if ask == "cancel" {
				if err := e.Cancel(t.Context(), "r", "enough"); err != nil {
					t.Fatal(err)
				}
				if out := wait(t, run, core.CancelledRun); out.Run != "r.2" {
					t.Errorf("outcome %+v", out)
				}
				return
			}
			if err := e.Pause(t.Context(), "r"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := e.Cancel(t.Context(), "r", "enough"); err != nil { // a paused run waits for what runs
				t.Fatal(err)
			}
			wait(t, run, core.CancelledRun)
		})
	}
}

// TestClosedAndResumedChain: an engine that closes leaves the last run resumable, by the id of any.
func TestClosedAndResumedChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun := make(chan struct{})
		stop := true
		wf := relay(3, func(ctx context.Context, g int) (int, error) {
			if g == 2 && stop {
				return hang(begun)(ctx)
			}
			return g, nil
		})
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
		run := begin(t, e)
		<-begun
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out, err := run.Wait(t.Context()); !errors.Is(err, engine.Closing) || out.Run != "r.2" {
			t.Fatalf("outcome %+v, %v", out, err)
		}
		stop = false
		e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out := wait(t, run, core.Finished); out.Run != "r.3" {
			t.Errorf("outcome %+v", out)
		}
	})
}

// TestHandoffMeetsFaults makes each call to the store fail in turn, before and after it had its effect: a resume always
// leads to the same chain.
func TestHandoffMeetsFaults(t *testing.T) {
	wf := relay(3, generation)
	for _, when := range []storetest.Moment{storetest.Before, storetest.After} {
		for n := 1; ; n++ {
			done := false
			synctest.Test(t, func(t *testing.T) {
				store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
				faulty := storetest.Faulty(store, n, when, errors.New("the disk is gone"))
				e := open(t, engine.Config{Store: faulty, Workflows: []cairn.Definer{wf}, Poll: time.Hour})
				run, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
				if err == nil {
					_, err = run.Wait(t.Context())
				}
				if err != nil {
					if run, err = e.Resume(t.Context(), "r", engine.ResumeOptions{}); errors.Is(err, engine.RunNotFound) {
						run, err = e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
					}
					if err == nil {
						_, err = run.Wait(t.Context())
					}
				}
				if all := infos(t, store, "r"); err != nil || len(all) != 3 || string(all[2].Result) != "3" {
					t.Fatalf("fault at call %d: %v, chain %+v", n, err, all)
				}
				if runs, err := store.Runs(t.Context(), engine.Query{}); err != nil || len(runs) != 3 {
					t.Fatalf("fault at call %d: %d runs, %v", n, len(runs), err)
				}
				replays(t, store, wf, "r")
				done = !faulty.Reached()
			})
			if done || t.Failed() {
				break
			}
		}
	}
}

// TestWhatIsSentMeanwhileIsTakenOnce sends to the first run while the chain goes on.
func TestWhatIsSentMeanwhileIsTakenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const generations, sent = 8, 60
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		last := make(chan struct{})
		wf := relay(generations, func(ctx context.Context, g int) (int, error) {
			if g == generations {
				<-last
			}
			time.Sleep(time.Duration(g) * time.Millisecond) // virtual
			return g, nil
		})
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}, Poll: time.Millisecond})
		run := begin(t, e)
		for i := range sent {
			seq, err := store.Append(t.Context(), "r", engine.Item{Dedupe: fmt.Sprint(i / 2), Event: core.Event{Kind: core.SignalReceived, Name: fmt.Sprint(i / 2)}})
			if err != nil || seq != int64(i/2)+1 {
				t.Fatalf("item %d has number %d, %v", i, seq, err)
			}
			time.Sleep(500 * time.Microsecond)
		}
		time.Sleep(100 * time.Millisecond)
		close(last)
		if out := wait(t, run, core.Finished); out.Run != fmt.Sprint("r.", generations) {
			t.Fatalf("outcome %+v", out)
		}
		next, runs := int64(1), map[string]bool{}
		for _, info := range infos(t, store, "r") {
			err := engine.ReadFrames(t.Context(), store, info.ID, 1, func(f *core.Frame, _ string) error {
				for _, ev := range f.Events {
					if ev.Seq > 0 {
						if ev.Seq != next || ev.Name != fmt.Sprint(next-1) {
							t.Errorf("%s takes item %d, %s, after item %d", info.ID, ev.Seq, ev.Name, next-1)
						}
						next++
						runs[info.ID] = true
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if next != sent/2+1 || len(runs) < 3 {
			t.Errorf("%d items were taken, by %d runs", next-1, len(runs))
		}
	})
}

// amnesiac writes commits with a successor, and never acknowledges them.
type amnesiac struct{ engine.Store }

func (a amnesiac) Commit(ctx context.Context, lease engine.Lease, c engine.Commit) error {
	err := a.Store.Commit(ctx, lease, c)
	if c.Successor != nil {
		err = errors.New("nobody knows")
	}
	return err
}

// TestHandoffOfUnknownFate: the successor that may be there is not left with a lease that nobody uses.
func TestHandoffOfUnknownFate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		wf := relay(2, generation)
		run := begin(t, open(t, engine.Config{Store: amnesiac{store}, Workflows: []cairn.Definer{wf}}))
		if out, err := run.Wait(t.Context()); err == nil {
			t.Fatalf("outcome %+v", out)
		}
		run, err := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}}).Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out := wait(t, run, core.Finished); out.Run != "r.2" {
			t.Errorf("outcome %+v", out)
		}
	})
}

func TestLongHistoryIsSuggested(t *testing.T) {
	for _, cfg := range []engine.Config{{SuggestFrames: 5}, {SuggestBytes: 1500}} {
		const step cairn.Key[int] = "step"
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		cfg.Store, cfg.Workflows = store, []cairn.Definer{workflow(func(v *cairn.View) cairn.Node {
			return cairn.Nodes{cairn.Loop{ID: "l", Max: 20, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node {
				return task.Task[int]{ID: step, Do: do(1)}
			}}, task.Task[int]{ID: second, Do: do(1)}}
		})}
		wait(t, begin(t, open(t, cfg)), core.Finished)
		told := 0
		err := engine.ReadFrames(t.Context(), store, "r", 1, func(f *core.Frame, _ string) error {
			for _, ev := range f.Events {
				if ev.Kind == core.HistoryLong {
					told++
				}
			}
			return nil
		})
		if err != nil || told != 1 {
			t.Errorf("it was told %d times, %v", told, err)
		}
	}
}

// TestLoopHandsOffInTheStore runs 2,000 iterations over 100 runs: no run has more rows than its part.
func TestLoopHandsOffInTheStore(t *testing.T) {
	const step cairn.Key[int] = "step"
	const iterations, every = 2000, 20
	wf := workflow(func(v *cairn.View) cairn.Node {
		return cairn.Nodes{cairn.Loop{ID: "l", Max: cairn.Unbounded, HandoffEvery: every,
			Until: func(v *cairn.View) bool { return v.Iteration() == iterations-1 },
			Body: func(v *cairn.View) cairn.Node {
				return task.Task[int]{ID: step, From: task.From(func(v *cairn.View) int { n, _ := step.Prev(v); return n },
					func(_ context.Context, n int) (int, error) { return n + 1, nil })}
			}}, task.Task[int]{ID: second, From: task.From(func(v *cairn.View) int { n, _ := step.Latest(v); return n },
			func(_ context.Context, n int) (int, error) { return n, nil })}}
	})
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}, MaxGenerations: cairn.Unbounded})
	if out := wait(t, begin(t, e), core.Finished); string(out.Result) != fmt.Sprint(iterations) {
		t.Fatalf("outcome %+v", out)
	}
	all := infos(t, store, "r")
	for _, info := range all {
		if info.Head > every+4 {
			t.Errorf("run %s has %d frames", info.ID, info.Head)
		}
	}
	if len(all) != iterations/every {
		t.Errorf("%d runs", len(all))
	}
}
