package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

// A way is how the windows of a run are planned.
type way struct {
	name string
	// size is the model's window in tokens; 0 is none.
	size int
	// offload, trigger and compact are those of loop.Agent: 0 is the default, negative is never.
	offload, trigger, compact int
	// work is what there is to do; none is coding.
	work *work
	// points is whether repeated results become pointers, recites whether the list of things to do is repeated.
	points, recites bool
}

// The ways that are compared. All that is not said here is a default.
var (
	unplanned = way{name: "no planning", offload: never, trigger: never, compact: never}
	planned   = way{name: "planned, 200k", size: 200_000, points: true, recites: true}
	early     = way{name: "the same, trigger 50k", size: 200_000, trigger: 50_000, points: true, recites: true}
	narrow    = way{name: "planned, 32k", size: 32_000, points: true, recites: true}

	unplannedSearch = way{name: "no planning, searches", work: &searching, offload: never, trigger: never, compact: never}
	plannedSearch   = way{name: "planned, searches", work: &searching, size: 200_000, points: true, recites: true}
)

const never = -1

// alone are ways with one tactic each, and all but one.
func alone() []way {
	with := func(name string, change func(*way)) way {
		y := unplanned
		y.name, y.size = name, 200_000
		change(&y)
		return y
	}
	without := func(name string, change func(*way)) way {
		y := early
		y.name = name
		change(&y)
		return y
	}
	return []way{
		unplanned,
		with("offload", func(y *way) { y.offload = 0 }),
		with("clear, 100k", func(y *way) { y.trigger = 0 }),
		with("clear, 50k", func(y *way) { y.trigger = 50_000 }),
		with("compact, 150k", func(y *way) { y.compact = 0 }),
		with("pointers", func(y *way) { y.points = true }),
		with("recite", func(y *way) { y.recites = true }),
		early,
		without("no offload", func(y *way) { y.offload = never }),
		without("no clearing", func(y *way) { y.trigger = never }),
		without("no pointers", func(y *way) { y.points = false }),
		without("no reciting", func(y *way) { y.recites = false }),
	}
}

// sweep are ways that begin to clear at different sizes.
func sweep() (all []way) {
	all = append(all, unplanned)
	for _, k := range []int{15, 20, 30, 40, 50, 60, 80, 100, 130} {
		y := early
		y.name, y.trigger = fmt.Sprintf("trigger %dk", k), 1000*k
		all = append(all, y)
	}
	return all
}

// result is what came of a run.
type result struct {
	way   way
	used  cairn.Usage
	cost  int64
	calls int // of the model, those of the compactor left out
	most  int64
	// lookups are calls that brought back what was not in view.
	lookups, clearings, cleared, compactions, pointers, offloads int
	// known facts can be answered from the last window, summed ones from the summary in it alone, kept ones from artifacts that the window
	// refers to.
	known, summed, kept int
	// stable are the parts of windows that begin the next one, where no rewrite was planned.
	stable []float64
	// beyond is the first call whose window is over 200,000 tokens, 0 if none is.
	beyond int
	// overhead is the engine's time for a call of the model or of a tool.
	overhead time.Duration
	records  int
}

const reply cairn.Key[string] = "reply"

const system = `You work on a service written in Go. You read files, search, run tests and write changes, and keep a list of what is to be done.

Say in a sentence or two what each result means for the task before you go on. State decisions with their reason, bugs with their place, and
paths in full, as soon as you know them: others rely on your words. Do not repeat long output. Prefer a search to reading a file twice.
When a call fails read why, and do something else. Never write a file that you have not read.`

const prompt = `Find out why orders are lost between the dispatcher and the handlers, and change what has to be changed.

The repository is in the working directory. The services are in internal/, one folder for each area, their tests beside them. The
documentation is at https://docs.example/. When you are done report every decision, every bug and the path of every handler.`

// tools are those of the world, as a program would bring them along; points is whether their results may become pointers.
func (w *world) tools(m *meter, points bool) []cairn.Tool {
	described := []struct{ name, what, argument string }{
		{"read_file", "Reads a file of the repository. Gives all of it, as text.", "The path, from the root of the repository."},
		{"grep", "Searches all files for a regular expression. Gives the lines that match, each with path and number.", "The expression."},
		{"run_tests", "Runs the tests of a package. Gives the log; it fails if a test does.", "The package, as go test takes it."},
		{"fetch", "Fetches a page. Gives its text.", "The address."},
		{"write_file", "Writes a file of the repository, in place of what is there.", "The path, from the root of the repository."},
	}
	var list []cairn.Tool
	for _, d := range described {
		key := argument[d.name]
		properties := fmt.Sprintf(`%q:{"type":"string","description":%q}`, key, d.argument)
		if d.name == "write_file" {
			properties += `,"content":{"type":"string","description":"All of it."}`
		}
		list = append(list, cairn.Tool{Name: d.name, Description: d.what, Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%q]}`, properties, key)),
			// A tool that is marked as if it changed something gets no pointers. That it is Idempotent leaves the journal as it is.
			SideEffect: d.name == "write_file" || !points, Idempotent: true,
			Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
				began := time.Now()
				defer m.outside(began, "tool")
				var args map[string]string
				if err := json.Unmarshal(in, &args); err != nil {
					return nil, err
				}
				out, err := w.call(d.name, args[key])
				if err != nil {
					return nil, err
				}
				return json.Marshal(out)
			}})
	}
	return list
}

// agent plans its windows in a way.
func (y way) agent(w *world, m *meter) *loop.Agent {
	a := &loop.Agent{Model: &worker{world: w, size: y.size, meter: m}, System: system, MaxTurns: cairn.Unbounded, Tools: w.tools(m, y.points), Todo: y.recites,
		Offload: y.offload, Reduce: window.Reduction{Trigger: y.trigger, Compact: y.compact}}
	if y.compact >= 0 {
		a.Compactor = &loop.Compactor{Model: &careless{w.facts, m}}
	}
	if !y.recites { // the list is kept all the same
		a.Tools = append(a.Tools, (&tool.Todo{}).Tool())
	}
	return a
}

// play runs the work in a way, by a real engine.
func (y way) play(ctx context.Context, at place) (r result, err error) {
	w, m := newWorld(*cmp.Or(y.work, &coding)), newMeter()
	store, err := sqlite.Open(ctx, at.db)
	if err != nil {
		return r, err
	}
	defer store.Close()
	agent := y.agent(w, m)
	flow := cairn.Workflow[struct{}, string]{Name: "work", Result: reply, Render: func(*cairn.View, struct{}) cairn.Node {
		return task.Task[string]{ID: reply, Agent: agent, Prompt: func(*cairn.View) string { return prompt }}
	}}
	e, err := engine.Open(ctx, engine.Config{Store: store, Artifacts: at.files, Workflows: []cairn.Definer{flow}})
	if err != nil {
		return r, err
	}
	defer e.Close(ctx)
	began := time.Now()
	run, err := e.Start(ctx, "work", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	if err != nil {
		return r, err
	}
	out, err := run.Wait(ctx)
	took := time.Since(began)
	if err == nil && out.Status != core.Finished {
		err = fmt.Errorf("%s: the run is %s: %v", y.name, out.Status, out.Failure)
	}
	if err != nil {
		return r, err
	}
	r = result{way: y, lookups: agent.Model.(*worker).lookups}
	r.used, r.cost = m.bill()
	r.overhead = (took - m.spent) / time.Duration(m.calls["model"]+m.calls["tool"])
	return r, r.read(ctx, store, at.files, w, m)
}

// read takes what the journal tells.
func (r *result) read(ctx context.Context, store *sqlite.Store, files cairn.Artifacts, w *world, m *meter) error {
	entries, err := store.Entries(ctx, "r", string(reply))
	if err != nil {
		return err
	}
	r.records = len(entries)
	journal := map[string]json.RawMessage{}
	for _, e := range entries {
		journal[e.Name] = e.Value
	}
	held, err := loop.Read(journal)
	if err != nil {
		return err
	}
	if len(held) != 1 {
		return fmt.Errorf("%d conversations in the journal", len(held))
	}
	calls := held[0].Calls
	if r.calls = len(calls); r.calls != len(m.common)+1 {
		return fmt.Errorf("%d calls in the journal, and %d were made", r.calls, len(m.common)+1)
	}
	for i, c := range calls {
		if c.Plan.Compact != nil {
			r.compactions++
		}
		if len(c.Plan.Clear) > 0 {
			r.clearings++
			r.cleared += len(c.Plan.Clear)
		}
		if i > 0 && !c.Plan.Rewrites() {
			r.stable = append(r.stable, m.common[i-1])
		}
		if size := c.Turn.Usage[0].Context(); size > r.most {
			r.most = size
			if size > 200_000 && r.beyond == 0 {
				r.beyond = c.N
			}
		}
		for _, b := range c.Results {
			if strings.HasPrefix(b.Text, `{"artifact":{`) {
				r.offloads++
			}
		}
	}
	text := all(m.final.Messages)
	r.pointers = strings.Count(text, "Same as the result of call ")
	turns := all(m.final.Messages[1:])
	aside, err := restored(ctx, files, text)
	if err != nil {
		return err
	}
	for _, f := range w.facts {
		switch {
		case f.in(text):
			r.known++
			r.kept++
			if !f.in(turns) {
				r.summed++
			}
		case strings.Contains(aside, f.evidence):
			r.kept++
		}
	}
	return nil
}

// in says whether the fact can be told from a text.
func (f fact) in(text string) bool {
	return !slices.ContainsFunc(f.words, func(word string) bool { return !strings.Contains(text, word) })
}

// all is what a window says.
func all(messages []window.Message) string {
	var b strings.Builder
	for _, m := range messages {
		for _, block := range m.Blocks {
			b.WriteString(block.Text + string(block.Input) + "\n")
		}
	}
	return b.String()
}

// restored is the text of all artifacts that a window refers to.
func restored(ctx context.Context, files cairn.Artifacts, text string) (string, error) {
	var b bytes.Buffer
	for _, kept := range slices.Compact(slices.Sorted(slices.Values(hash.FindAllString(text, -1)))) {
		f, err := files.Get(ctx, kept)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(&b, f)
		if wrong := f.Close(); err == nil {
			err = wrong
		}
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// floor is what one durable record costs here and now, by the same engine: as many as a run of the bench has.
func floor(ctx context.Context, at place, records int) (time.Duration, error) {
	store, err := sqlite.Open(ctx, at.db)
	if err != nil {
		return 0, err
	}
	defer store.Close()
	flow := cairn.Workflow[struct{}, string]{Name: "floor", Result: reply, Render: func(*cairn.View, struct{}) cairn.Node {
		return task.Task[string]{ID: reply, Do: func(ctx context.Context) (string, error) {
			for i := range records {
				if _, err := task.Step(ctx, fmt.Sprint(i), func(context.Context) (string, error) { return "x", nil }); err != nil {
					return "", err
				}
			}
			return "", nil
		}}
	}}
	e, err := engine.Open(ctx, engine.Config{Store: store, Workflows: []cairn.Definer{flow}})
	if err != nil {
		return 0, err
	}
	defer e.Close(ctx)
	began := time.Now()
	run, err := e.Start(ctx, "floor", json.RawMessage(`{}`), engine.StartOptions{})
	if err != nil {
		return 0, err
	}
	out, err := run.Wait(ctx)
	if err == nil && out.Status != core.Finished {
		err = fmt.Errorf("the floor is %s: %v", out.Status, out.Failure)
	}
	return time.Since(began) / time.Duration(records), err
}
