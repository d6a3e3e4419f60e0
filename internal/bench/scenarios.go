package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
)

var scenarios = []scenario{
	{name: "floor", about: "floor: INSERT per transaction", steps: 1000, run: func(s settings) (time.Duration, string, error) { return floorOf(s, 1000) }},
	{name: "seq", about: "1,000 sequential tasks", aim: "≥ 0.5", steps: 1000, run: func(s settings) (time.Duration, string, error) {
		return s.one(sequence, size{N: s.tasks})
	}},
	{name: "runs", about: "100 runs × 10 tasks at once", aim: "≥ 2.5", steps: 1000, run: func(s settings) (time.Duration, string, error) {
		return s.many(100, size{N: 10})
	}},
	{name: "fan", about: "fan-out of 1,000, Max 64, unread", aim: "≥ 3", steps: 1000, run: func(s settings) (time.Duration, string, error) {
		return s.one(fan, size{N: 1000, Max: 64})
	}},
	{name: "fold", about: "fan-out of 1,000, Max 64, folded by a task", aim: "≥ 1", steps: 1000, run: func(s settings) (time.Duration, string, error) {
		return s.one(fan, size{N: 1000, Max: 64, Fold: true})
	}},
	{name: "read", about: "fan-out of 1,000, Max 64, all read by the render", aim: "", steps: 1000, run: func(s settings) (time.Duration, string, error) {
		return s.one(fan, size{N: 1000, Max: 64, Render: true})
	}},
	{name: "hits", about: "1,000 sequential tasks from the cache", aim: "≥ 0.5", steps: 1000, run: func(s settings) (time.Duration, string, error) {
		return s.hits("sequence", size{N: 1000, Cache: true})
	}},
	{name: "hitfan", about: "fan-out of 1,000 from the cache, Max 64", aim: "≥ 2", steps: 1000, run: func(s settings) (time.Duration, string, error) {
		return s.hits("fan", size{N: 1000, Max: 64, Cache: true})
	}},
	{name: "handoff", about: "500 tasks, each handed to a successor", aim: "a handoff ≤ 3 × a frame", steps: 1000, run: settings.handoffs},
	{name: "long", about: "10,000 sequential tasks", aim: "≤ 1.3 × at 1,000; ≤ 800 B; ≤ 60 MB", steps: 10_000, run: settings.long},
	{name: "resume1k", about: "resume after kill -9 at 1,000 tasks, to the next task", aim: "≤ 40 ms", run: func(s settings) (time.Duration, string, error) {
		return s.resume(1000)
	}},
	{name: "resume10k", about: "resume after kill -9 at 10,000 tasks, to the next task", aim: "≤ 150 ms", run: func(s settings) (time.Duration, string, error) {
		return s.resume(10_000)
	}},
	{name: "exit", about: "a program that runs one task and exits", aim: "≤ 40 ms", run: settings.exit},
}

// size is the input of the workflows.
type size struct {
	N    int `json:"n"`
	Max  int `json:"max,omitempty"`
	Fold bool
	// Render makes the render itself read every result.
	Render bool
	// Stop makes the sequence's last task wait for ever.
	Stop bool
	// Cache shares the outputs of all runs.
	Cache bool
	// Every is how many iterations of a loop one run makes; 0 is all.
	Every int
}

// shared is what a task of the size is run with.
func (in size) shared() cairn.With {
	if !in.Cache {
		return nil
	}
	return cairn.With{cache.Policy{Scope: cache.Workflow}}
}

const last cairn.Key[string] = "last"

// payload is an output of 100 bytes, as JSON.
var payload = strings.Repeat("x", 98)

func nop(context.Context) (string, error) { return payload, nil }

func key(i int) cairn.Key[string] { return cairn.Key[string]("t" + strconv.Itoa(i)) }

// sequence is N tasks one after the other.
var sequence = cairn.Workflow[size, string]{Name: "sequence", Result: last, Render: func(v *cairn.View, in size) cairn.Node {
	nodes := make(cairn.Nodes, 0, in.N+1)
	for i := range in.N - 1 {
		nodes = append(nodes, task.Task[string]{ID: key(i), Do: nop, With: in.shared()})
	}
	return append(nodes, task.Task[string]{ID: last, Do: func(ctx context.Context) (string, error) {
		if in.Stop {
			fmt.Println("at the last task")
			<-ctx.Done()
			return "", ctx.Err()
		}
		return payload, nil
	}})
}}

// fan is N tasks side by side, and one after them.
var fan = cairn.Workflow[size, string]{Name: "fan", Result: last, Render: func(v *cairn.View, in size) cairn.Node {
	nodes := make(cairn.Nodes, 0, in.N)
	read := 0
	for i := range in.N {
		nodes = append(nodes, task.Task[string]{ID: key(i), Do: nop, With: in.shared()})
		if in.Render {
			if _, ok := key(i).Get(v); ok {
				read++
			}
		}
	}
	end := task.Task[string]{ID: last, Do: nop}
	if in.Fold {
		end.Do = nil
		end.From = task.From(func(v *cairn.View) []string {
			all := make([]string, in.N)
			for i := range all {
				all[i] = key(i).Must(v)
			}
			return all
		}, func(_ context.Context, all []string) (string, error) { return strconv.Itoa(len(all)), nil })
	}
	return cairn.Nodes{cairn.Parallel{Max: in.Max, Children: nodes}, end}
}}

// rounds is a loop of N tasks, one after the other.
var rounds = cairn.Workflow[size, string]{Name: "rounds", Result: last, Render: func(v *cairn.View, in size) cairn.Node {
	return cairn.Loop{ID: "l", Max: in.N, OnMax: cairn.ReturnLast, HandoffEvery: in.Every,
		Body: func(*cairn.View) cairn.Node { return task.Task[string]{ID: last, Do: nop} }}
}}

// handoffs runs a loop that hands over after each iteration, beside one that never does. The difference is what a handoff
// costs: the end of a run, with the making of the next.
func (s settings) handoffs() (time.Duration, string, error) {
	const n = 500
	var took [2]time.Duration
	for i, every := range []int{0, 1} {
		err := func() error {
			e, store, err := s.open(fmt.Sprint("handoff", i))
			if err != nil {
				return err
			}
			defer store.Close()
			defer e.Close(background)
			began := time.Now()
			defer func() { took[i] = time.Since(began) }()
			return finish(e, "rounds", size{N: n, Every: every})
		}()
		if err != nil {
			return 0, "", err
		}
	}
	return took[1], fmt.Sprintf("a handoff costs %.2f × a frame", float64(took[1]-took[0])/float64(took[0])), nil
}

// open starts an engine over a database of the scenario.
func (s settings) open(name string) (*engine.Engine, *sqlite.Store, error) {
	store, err := sqlite.Open(background, sqlite.Config{Path: filepath.Join(s.dir, name+".db"), Synchronous: s.sync})
	if err != nil {
		return nil, nil, err
	}
	e, err := engine.Open(background, engine.Config{Store: store, Workflows: []cairn.Definer{sequence, fan, rounds},
		MaxGenerations: 1000})
	return e, store, err
}

// one runs one run.
func (s settings) one(wf cairn.Definer, in size) (time.Duration, string, error) {
	e, store, err := s.open("one")
	if err != nil {
		return 0, "", err
	}
	defer store.Close()
	defer e.Close(background)
	began := time.Now()
	err = finish(e, wf.Define().Name, in)
	return time.Since(began), "", err
}

// hits runs one run twice, and measures the second, whose outputs all come from the first.
func (s settings) hits(workflow string, in size) (took time.Duration, more string, err error) {
	e, store, err := s.open("hits")
	if err != nil {
		return 0, "", err
	}
	defer store.Close()
	defer e.Close(background)
	for range 2 {
		began := time.Now()
		if err := finish(e, workflow, in); err != nil {
			return 0, "", err
		}
		took = time.Since(began)
	}
	stats, err := store.CacheStats(background)
	if err == nil && stats.Entries != int64(in.N) && stats.Entries != int64(in.N-1) {
		err = fmt.Errorf("the cache has %d entries for %d tasks", stats.Entries, in.N)
	}
	return took, "", err
}

// many runs several runs at once.
func (s settings) many(runs int, in size) (time.Duration, string, error) {
	e, store, err := s.open("many")
	if err != nil {
		return 0, "", err
	}
	defer store.Close()
	defer e.Close(background)
	began := time.Now()
	errs := make([]error, runs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() { errs[i] = finish(e, "sequence", in) })
	}
	wg.Wait()
	took := time.Since(began)
	for _, err := range errs {
		if err != nil {
			return 0, "", err
		}
	}
	return took, "", nil
}

// finish starts a run and waits for its end.
func finish(e *engine.Engine, workflow string, in size) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	run, err := e.Start(background, workflow, raw, engine.StartOptions{})
	if err != nil {
		return err
	}
	out, err := run.Wait(background)
	if err == nil && out.Status != core.Finished {
		err = fmt.Errorf("the run is %s: %w", out.Status, out.Failure)
	}
	return err
}

// bytes is the size of the database after its log has been folded into it.
func bytes(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
