package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// inspected is a run as inspect --json shows it.
type inspected struct {
	engine.RunInfo
	Status string          `json:"status"`
	Input  json.RawMessage `json:"input,omitempty"`
	// Carried is the state that the run before has handed over.
	Carried json.RawMessage `json:"carried,omitempty"`
	// Tasks counts tasks by state; pending are those mounted and never started.
	Tasks map[string]int `json:"tasks"`
	// Cached are finished tasks whose outputs were taken from the cache.
	Cached   []string   `json:"cached,omitempty"`
	Running  []string   `json:"running,omitempty"`
	Retrying []troubled `json:"retrying,omitempty"`
	Failed   []troubled `json:"failed,omitempty"`
	Skipped  []skipped  `json:"skipped,omitempty"`
	Budgets  []limited  `json:"budgets,omitempty"`
	// FanOuts are what delegated work has used, over the work that it was delegated by.
	FanOuts []fanOut `json:"fanOuts,omitempty"`
	// Recalls counts tasks by how their last recall of memory went; Forgetful are those whose bank did not answer.
	Recalls   map[cairn.RecallStatus]int `json:"recalls,omitempty"`
	Forgetful []string                   `json:"forgetful,omitempty"`
	Loops     map[string]*core.Loop      `json:"loops,omitempty"`
	Tries     map[string]*core.Try       `json:"tries,omitempty"`
	Artifacts []kept                     `json:"artifacts,omitempty"`
}

// maxLines is how many budgets and artifacts people are shown, half of them the outermost or first and half the last: a budget in a
// loop is one per iteration, and a long conversation has put many results aside.
const maxLines = 20

// firstAndLast writes a line for each of n things, or, of too many, for the first and the last, and between them how many are left out.
func firstAndLast(n int, line func(i int), more func(left string)) {
	left := max(0, n-maxLines)
	for i := 0; i < n; i++ {
		if left > 0 && i == maxLines/2 {
			more(fmt.Sprintf("%d more: see --json", left))
			i += left
		}
		line(i)
	}
}

// troubled is a task that failed, for now or for good.
type troubled struct {
	Path     string         `json:"path"`
	Attempt  int            `json:"attempt"`
	Optional bool           `json:"optional,omitempty"`
	At       time.Time      `json:"at,omitzero"`
	Failure  *cairn.Failure `json:"failure,omitempty"`
}

// skipped is a task that was not run, and why.
type skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason,omitempty"`
}

// kept is an artifact and the file it lies in.
type kept struct {
	cairn.Artifact
	File string `json:"file"`
}

func (a *app) inspect() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect RUN",
		Short: "Show where a run stands: its tasks, failures, artifacts and result",
		Example: `inspect nightly
inspect nightly --json`,
		Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := a.look(c.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.put(found)
			}
			return a.table(func(w io.Writer) { a.describe(w, found) })
		},
	}
}

// look reads what there is to know about a run. It needs no code of its workflow.
func (a *app) look(ctx context.Context, id string) (*inspected, error) {
	files, err := a.files()
	if err != nil {
		return nil, err
	}
	var out *inspected
	err = a.reading(ctx, func(store *sqlite.Store) error {
		info, err := store.Run(ctx, id)
		if err != nil {
			return a.unknownRun(id, err)
		}
		state, lines, err := engine.Load(ctx, store, id)
		if err != nil {
			return err
		}
		out = &inspected{RunInfo: info, Status: standing(info), Input: state.Input, Tasks: map[string]int{}, Loops: state.Loops, Tries: state.Tries}
		at := instant(info, state, time.Now().UnixMilli())
		for _, address := range state.Budgets() {
			out.Budgets = append(out.Budgets, limitsOf(address, state.Ledgers[address], at, nil)...)
		}
		out.FanOuts = fanOuts(state)
		if state.Envelope != nil {
			out.Carried = state.Envelope.State
		}
		for path, l := range lines {
			if l.Kind == cairn.KindTask && !l.Untaken && state.Tasks[path] == nil {
				out.Tasks["pending"]++
			}
		}
		for _, path := range slices.SortedFunc(maps.Keys(state.Tasks), naturally) {
			if err := out.task(path, state.Tasks[path], files.Path); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (out *inspected) task(path string, t *core.Task, file func(hash string) (string, error)) error {
	out.Tasks[string(t.Status)]++
	if t.Recall != "" {
		if out.Recalls == nil {
			out.Recalls = map[cairn.RecallStatus]int{}
		}
		out.Recalls[t.Recall]++
		if t.Recall.Degraded() {
			out.Forgetful = append(out.Forgetful, path)
		}
	}
	if t.Cached {
		out.Cached = append(out.Cached, path)
	}
	switch t.Status {
	case core.TaskRunning:
		out.Running = append(out.Running, path)
	case core.TaskGaveUp:
		out.Failed = append(out.Failed, troubled{Path: path, Attempt: t.Attempt, Optional: t.Tolerated, Failure: t.Failure})
	case core.TaskSkipped:
		out.Skipped = append(out.Skipped, skipped{path, t.Reason})
	case core.TaskWaiting:
		if t.Failure != nil {
			out.Retrying = append(out.Retrying, troubled{Path: path, Attempt: t.Attempt, At: time.UnixMilli(t.At).UTC(), Failure: t.Failure})
		}
	}
	for _, artifact := range t.Artifacts {
		where, err := file(artifact.Hash)
		if err != nil {
			return err
		}
		out.Artifacts = append(out.Artifacts, kept{artifact, where})
	}
	return nil
}

// describe writes a run for people.
func (a *app) describe(w io.Writer, r *inspected) {
	row(w, "run", r.ID)
	row(w, "workflow", strings.TrimSpace(r.Workflow+" "+r.Version))
	row(w, "status", r.Status)
	if at := place(r.RunInfo); at != "" {
		row(w, "generation", at)
	}
	row(w, "created", r.Created.Format(clock))
	row(w, "updated", fmt.Sprintf("%s, %s after that", r.Updated.Format(clock), span(r.Updated.Sub(r.Created).Milliseconds())))
	row(w, "frames", strconv.FormatInt(r.Head, 10))
	row(w, "input", short(string(r.Input), maxBrief))
	if r.Carried != nil {
		row(w, "carried", short(string(r.Carried), maxBrief))
	}
	var counts []string
	for _, state := range slices.Sorted(maps.Keys(r.Tasks)) {
		text := fmt.Sprintf("%d %s", r.Tasks[state], state)
		if n := len(r.Cached); n > 0 && state == string(core.TaskFinished) {
			text += fmt.Sprintf(" (%d from the cache)", n)
		}
		counts = append(counts, text)
	}
	row(w, "tasks", strings.Join(counts, ", "))
	r.describeUse(w)
	r.describeNodes(w)
	r.describeEnd(w)
	if !core.Status(r.Status).Terminal() && r.Status != string(core.Running) {
		row(w, "next", a.hint("resume", quote(r.ID)))
	}
	if r.Reopens() {
		row(w, "next", a.raise(r.ID))
	}
}

// describeUse tells of budgets, fan-outs and memory.
func (r *inspected) describeUse(w io.Writer) {
	firstAndLast(len(r.Budgets), func(i int) { budgetRow(w, r.Budgets[i]) }, func(left string) { row(w, "budget", "…", "", "", left) })
	for _, f := range r.FanOuts {
		f.describe(w)
	}
	if len(r.Recalls) > 0 {
		var counts []string
		for _, status := range slices.Sorted(maps.Keys(r.Recalls)) {
			counts = append(counts, fmt.Sprintf("%d %s", r.Recalls[status], status))
		}
		row(w, "memory", "recalls: "+strings.Join(counts, ", "))
	}
	for _, path := range r.Forgetful {
		row(w, "memory", path+": went without what a bank has; events says why")
	}
}

// describeNodes tells of tasks and loops, one by one.
func (r *inspected) describeNodes(w io.Writer) {
	for _, path := range r.Running {
		row(w, "running", path)
	}
	for _, path := range slices.SortedFunc(maps.Keys(r.Loops), naturally) {
		l := r.Loops[path]
		text := fmt.Sprintf("%s: iteration %d", path, l.Iteration)
		if l.Done {
			text = fmt.Sprintf("%s: done after %d", path, l.Iteration+1)
		}
		if l.Exhausted {
			text = fmt.Sprintf("%s: exhausted after %d", path, l.Iteration+1)
		}
		row(w, "loop", text)
	}
	for _, t := range r.Retrying {
		row(w, "retrying", fmt.Sprintf("%s: attempt %d at %s, after %s", t.Path, t.Attempt+1, t.At.Format(clock), brief(t.Failure)))
	}
	for _, t := range r.Failed {
		text := fmt.Sprintf("%s: %s (attempt %d)", t.Path, brief(t.Failure), t.Attempt)
		if t.Optional {
			text += ", optional"
		}
		row(w, "failed", text)
	}
	for _, t := range r.Skipped {
		if t.Reason != core.BySkipIf {
			row(w, "skipped", t.Path+": "+t.Reason)
		}
	}
}

// describeEnd tells what the run has left: artifacts, a result, a failure.
func (r *inspected) describeEnd(w io.Writer) {
	firstAndLast(len(r.Artifacts), func(i int) {
		file := r.Artifacts[i]
		text := fmt.Sprintf("%s, %s, %s", file.Name, size(file.Size), file.File)
		if file.Producer != "" {
			text = file.Producer + ": " + text
		}
		row(w, "artifact", text)
	}, func(left string) { row(w, "artifact", "… "+left) })
	if r.Result != nil {
		row(w, "result", string(r.Result))
	}
	if f := r.Failure; f != nil {
		text := brief(f)
		if f.Path != "" {
			text = f.Path + ": " + text
		}
		row(w, "failure", text)
		if strings.Contains(f.Message, "\n") || briefMessage(f) != f.Message {
			// All of it: this is where others refer to.
			for line := range strings.Lines(f.Message) {
				row(w, "", strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), "\n"))
			}
		}
	}
}

// naturally orders paths so that iteration 10 comes after iteration 9.
func naturally(x, y string) int {
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx > 0 && dy > 0 {
			if a, b := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0"); a != b {
				if len(a) != len(b) {
					return len(a) - len(b)
				}
				return strings.Compare(a, b)
			}
			x, y = x[dx:], y[dy:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	return len(x) - len(y)
}

func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
