package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// weighed is what a node has used, as node --json shows it.
type weighed struct {
	Run  string `json:"run"`
	Path string `json:"path"`
	// Status is a task's; pending is one that is mounted and never started. It is missing of a node that tasks are below.
	Status core.TaskStatus `json:"status,omitempty"`
	// Below counts the tasks below, of a node that is none.
	Below int `json:"tasks,omitempty"`
	// Outcomes counts the attempts that have ended, by outcome.
	Outcomes map[core.Outcome]int `json:"outcomes,omitempty"`
	usage
	// Context is the most that a call has read, in tokens, and Bucket what that is metered in.
	Context int64  `json:"context"`
	Bucket  string `json:"bucket,omitempty"`
	// HalfFull: a call has filled more than half of its model's window.
	HalfFull bool `json:"halfFull,omitempty"`
	// Windows counts what an agent's windows have been spared.
	Windows *spared `json:"windows,omitempty"`
	// PromptBytes is the size of the frozen input, as JSON.
	PromptBytes int `json:"promptBytes,omitempty"`
	// Attempts are a task's; the last one may be running.
	Attempts []tried   `json:"attempts,omitempty"`
	Budgets  []limited `json:"budgets,omitempty"`
}

// usage sums up model calls.
type usage struct {
	Calls  int              `json:"calls"`
	Tokens int64            `json:"tokens"`
	Kinds  map[string]int64 `json:"kinds,omitempty"`
	// Cost is in micro-dollars, without the calls that Unpriced counts.
	Cost     int64 `json:"cost"`
	Unpriced int   `json:"unpriced,omitempty"`
}

// tried is an attempt of a task.
type tried struct {
	Number  int            `json:"attempt"`
	Outcome core.Outcome   `json:"outcome"`
	Millis  int64          `json:"tookMs"`
	Failure *cairn.Failure `json:"failure,omitempty"`
	because string
	usage
}

// spared is what was taken out of the windows of a task's agent.
type spared struct {
	// Pointers stand for results that were in the window already, Cleared results for artifacts, Compactions for whole turns. What
	// the provider has done by itself is counted, too.
	Pointers    int `json:"pointers"`
	Cleared     int `json:"cleared"`
	Compactions int `json:"compactions"`
}

// attemptRunning is the outcome that is shown of an attempt that has none yet.
const attemptRunning core.Outcome = "running"

func (u *usage) add(calls []cairn.Usage) {
	for _, c := range calls {
		u.Calls++
		u.Tokens += c.Tokens()
		u.Cost += c.Cost
		if c.Unpriced {
			u.Unpriced++
		}
		for _, k := range engine.TokenKinds(c) {
			if k.Tokens > 0 {
				if u.Kinds == nil {
					u.Kinds = map[string]int64{}
				}
				u.Kinds[k.Kind] += k.Tokens
			}
		}
	}
}

func (a *app) node() *cobra.Command {
	return &cobra.Command{
		Use:   "node RUN PATH",
		Short: "Show what a node of a run has used: tokens, cost, attempts, prompt size, budgets",
		Long: `Show what a node of a run has used: tokens, cost, each attempt, its largest context and the size of its prompt, and what
the budgets around it have left. The budgets of a task that has not started are told by the workflow's code.

Of a loop, a scope, an iteration or a budget all tasks below it are summed up.`,
		Example: `node nightly report
node nightly 'work[3]/step'
node nightly '#aspects' --json`,
		Args: takes("RUN", "PATH"),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := a.weigh(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			if a.json {
				return a.put(found)
			}
			return a.table(func(w io.Writer) { found.describe(w) })
		},
	}
}

// weigh adds up what a path has used. It needs no code of the workflow.
func (a *app) weigh(ctx context.Context, id, path string) (*weighed, error) {
	out := &weighed{Run: id, Path: path, Outcomes: map[core.Outcome]int{}}
	state, lines := core.NewState(), core.Lines{}
	err := a.reading(ctx, func(store *sqlite.Store) error {
		info, err := store.Run(ctx, id)
		if err != nil {
			return a.unknownRun(id, err)
		}
		err = engine.FoldFrames(ctx, store, id, func(now *core.State, f *core.Frame) error {
			state = now
			lines.Fold(f.Plan)
			out.fold(now, f)
			return nil
		})
		if err != nil {
			return err
		}
		at := instant(info, state, time.Now().UnixMilli())
		if !out.close(state, lines, at) {
			return a.noNode(id, path, state, lines)
		}
		if err := out.spare(ctx, store); err != nil {
			return err
		}
		if t := state.Tasks[path]; out.Status != "" && (t == nil || t.Attempt == 0) {
			return a.around(ctx, store, info, out, at)
		}
		return nil
	})
	return out, err
}

// spare adds up what the conversations at the path itself went without.
func (out *weighed) spare(ctx context.Context, store *sqlite.Store) error {
	found, err := held(ctx, store, out.Run, out.Path)
	if err != nil || len(found) == 0 {
		return err
	}
	out.Windows = &spared{}
	for _, c := range found {
		out.Windows.Pointers += c.spared.Pointers
		out.Windows.Cleared += c.spared.Cleared
		out.Windows.Compactions += c.spared.Compactions
	}
	return nil
}

// around adds the budgets of a task that was never started: no frame says which they are, so the workflow's code is
// asked, if it is here and still renders the run.
func (a *app) around(ctx context.Context, store *sqlite.Store, info engine.RunInfo, out *weighed, at int64) error {
	def, known := a.find(info.Workflow)
	if !known {
		return nil
	}
	m, err := engine.LoadMachine(ctx, store, info.ID, def)
	if err != nil {
		return err
	}
	m.Verify() // There is no plan where it differs, and nothing to add.
	addresses, ledgers := m.Around(out.Path)
	for i, address := range addresses {
		out.Budgets = append(out.Budgets, limitsOf(address, &ledgers[i], at, nil)...)
	}
	return nil
}

// fold adds what a frame says of the path.
func (out *weighed) fold(state *core.State, f *core.Frame) {
	for _, done := range state.Ended() {
		if !out.covers(done.Path, state.Tasks[done.Path]) {
			continue
		}
		out.Outcomes[done.Outcome]++
		out.add(done.Usage)
		for _, u := range done.Usage {
			if context := u.Context(); context >= out.Context {
				out.Context, out.Bucket = context, core.BucketName(core.ContextBucket(context))
			}
			out.HalfFull = out.HalfFull || u.Window > 0 && 2*u.Context() > u.Window
		}
		if done.Path == out.Path {
			one := tried{Number: done.Number, Outcome: done.Outcome, Millis: done.Took}
			one.why(f, done)
			one.add(done.Usage)
			out.Attempts = append(out.Attempts, one)
		}
	}
	for i := range f.Decisions {
		if d := &f.Decisions[i]; d.Kind == core.Started && d.Path == out.Path && d.Input != nil {
			out.PromptBytes = len(d.Input)
		}
	}
}

// why takes over what a frame says of the end of an attempt. One that was lost with its process has no event.
func (t *tried) why(f *core.Frame, a core.Attempt) {
	for i := range f.Events {
		if e := &f.Events[i]; e.Path == a.Path && e.Attempt == a.Number {
			if t.Failure = e.Failure; e.Failure != nil {
				t.because = brief(e.Failure)
			}
			if e.Refused != nil {
				t.because = refusal(e)
			}
		}
	}
}

// covers says that a task is the node, or below it.
func (out *weighed) covers(path string, t *core.Task) bool {
	rest, below := strings.CutPrefix(path, out.Path)
	return below && (rest == "" || rest[0] == '/' || rest[0] == '[') || t != nil && slices.Contains(t.Budgets, out.Path)
}

// close adds where the path stands. It is false where the path means nothing.
func (out *weighed) close(state *core.State, lines core.Lines, at int64) (found bool) {
	t := state.Tasks[out.Path]
	line, mounted := lines[out.Path]
	switch {
	case t != nil:
		out.Status = t.Status
		if t.Status == core.TaskRunning {
			out.Attempts = append(out.Attempts, tried{Number: t.Attempt, Outcome: attemptRunning, Millis: max(0, at-t.Since)})
		}
		for _, address := range t.Budgets {
			if l := state.Ledgers[address]; l != nil {
				spent := t.Spent
				if t.Status == core.TaskRunning {
					spent.Latency += max(0, at-t.Since)
				}
				out.Budgets = append(out.Budgets, limitsOf(address, l, at, &spent)...)
			}
		}
		return true
	case mounted && line.Kind == cairn.KindTask:
		out.Status = "pending"
		return true
	}
	for path, t := range state.Tasks {
		if out.covers(path, t) {
			out.Below++
		}
	}
	if l := state.Ledgers[out.Path]; l != nil {
		out.Budgets = limitsOf(out.Path, l, at, nil)
	}
	return out.Below > 0 || out.Budgets != nil || mounted && holdsTasks(line)
}

// holdsTasks says that the tasks below a node are known by its path.
func holdsTasks(l core.Line) bool {
	return l.Kind == cairn.KindLoop || l.Kind == cairn.KindScope || l.Kind == cairn.KindAspects
}

// noNode is the error of a path that means nothing, with what may have been meant.
func (a *app) noNode(id, path string, state *core.State, lines core.Lines) error {
	paths := map[string]bool{}
	for p := range state.Tasks {
		paths[p] = true
	}
	for p, l := range lines {
		if l.Kind == cairn.KindTask || holdsTasks(l) {
			paths[p] = true
		}
	}
	next := "see " + a.hint("graph", quote(id), "--run")
	if near := core.Near(path, slices.Collect(maps.Keys(paths))); len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return &cairn.Error{Code: NoSuchNode, Run: id, Message: fmt.Sprintf("there is no task at %s, and none that has started below it", path), Next: next}
}

// describe writes a node for people.
func (out *weighed) describe(w io.Writer) {
	row(w, "node", out.Path)
	if out.Status != "" {
		row(w, "status", string(out.Status))
	}
	if out.Below > 0 {
		row(w, "tasks", fmt.Sprintf("%d have started", out.Below))
	}
	row(w, "attempts", out.attempts())
	row(w, "calls", fmt.Sprint(out.Calls))
	row(w, "tokens", out.tokens())
	cost := cairn.Cost.Format(out.Cost)
	if out.Unpriced > 0 {
		cost += fmt.Sprintf(", without %s of models that have no price", count(out.Unpriced, "call"))
	}
	row(w, "cost", cost)
	if out.Calls > 0 {
		text := fmt.Sprintf("at most %s tokens in a call, bucket %s", cairn.Tokens.Format(out.Context), out.Bucket)
		if out.HalfFull {
			text += "; over half of a model's window"
		}
		row(w, "context", text)
	}
	if s := out.Windows; s != nil && *s != (spared{}) {
		row(w, "windows", fmt.Sprintf("%s told by a pointer, %d cleared, %s", count(s.Pointers, "result"), s.Cleared, count(s.Compactions, "compaction")))
	}
	if out.PromptBytes > 0 {
		row(w, "prompt", size(int64(out.PromptBytes)))
	}
	for _, t := range out.Attempts {
		row(w, fmt.Sprintf("attempt %d", t.Number), t.String())
	}
	for _, l := range out.Budgets {
		budgetRow(w, l)
	}
}

func (out *weighed) attempts() string {
	total := 0
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(out.Outcomes)) {
		total += out.Outcomes[outcome]
		parts = append(parts, fmt.Sprintf("%d %s", out.Outcomes[outcome], outcome))
	}
	if n := len(out.Attempts); n > 0 && out.Attempts[n-1].Outcome == attemptRunning {
		total++
		parts = append(parts, "1 running")
	}
	if total == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}

func (u *usage) tokens() string {
	text := cairn.Tokens.Format(u.Tokens)
	var parts []string
	for _, k := range engine.TokenKinds(cairn.Usage{}) {
		if n := u.Kinds[k.Kind]; n > 0 {
			parts = append(parts, k.Kind+" "+cairn.Tokens.Format(n))
		}
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// String is an attempt in one line.
func (t *tried) String() string {
	text := fmt.Sprintf("%s after %s", t.Outcome, span(t.Millis))
	if t.Outcome == attemptRunning {
		text = "running for " + span(t.Millis)
	}
	if t.Calls > 0 {
		text += fmt.Sprintf(", %s, %s tokens, %s", count(t.Calls, "call"), cairn.Tokens.Format(t.Tokens), cairn.Cost.Format(t.Cost))
	}
	if t.because != "" {
		text += ": " + t.because
	}
	return text
}
