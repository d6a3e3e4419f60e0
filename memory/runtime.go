package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairnrun/cairn"
)

// DefaultTimeout bounds what is fetched before a task, all banks together, unless TimeoutEnv says otherwise.
const DefaultTimeout = 2 * time.Second

// TimeoutEnv names the environment variable with another timeout, as time.ParseDuration reads it.
const TimeoutEnv = "CAIRN_MEMORY_TIMEOUT"

// Runtime gives tasks their memory. Its Middleware goes into an engine's configuration, its Deliver to the outbox.
type Runtime struct {
	// Store is what bodies get by From, and what keeps. Required.
	Store Store
	// Recaller answers. Defaults to Store; a remote backend is another.
	Recaller Recaller
	// Primers are files that are primers of every bank, by their name: conventions.md. A bank's own primer of that id comes in
	// place of it. Nil is none.
	Primers fs.FS
	// Timeout bounds what is fetched before a task. 0 is TimeoutEnv, or DefaultTimeout.
	Timeout time.Duration
}

// RetainKind is the kind of the effects that Deliver takes.
const RetainKind = "memory.retain"

// snapshotName is where an attempt's journal has the block.
const snapshotName = "memory"

// snapshot is what a task sees, frozen for all of its attempts.
type snapshot struct {
	Block  string       `json:"block,omitempty"`
	Report cairn.Recall `json:"report"`
	// Primers are the notes that stand in the block as primers.
	Primers []Ref `json:"primers,omitempty"`
}

// Middleware gives a task with an active memory its block and its tools, and lets one that succeeds leave a digest. It is a
// function for engine.Config.Middleware.
func (r *Runtime) Middleware(next cairn.Run) cairn.Run {
	return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		ctx = With(ctx, r.Store)
		spec := call.Policy.Memory
		talks := call.Policy.Config[conversationFeature]
		if (spec == nil || !spec.Active()) && talks == nil {
			return next(ctx, call)
		}
		mine := *call
		if talks != nil {
			next = r.conversing(next, &mine, talks)
		}
		if spec == nil || !spec.Active() {
			return next(ctx, &mine)
		}
		if err := writable(*spec); err != nil {
			return cairn.Result{}, err
		}
		var reports reports
		var primers []Ref
		if call.Prompted && (spec.Recall != "off" || len(spec.Primers) > 0) {
			snap, fresh, err := r.snapshot(ctx, call, *spec)
			if err != nil {
				return cairn.Result{}, err
			}
			mine.Memory, primers = snap.Block, snap.Primers
			if fresh {
				reports.add(snap.Report)
			}
		}
		mine.Tools = slices.Concat(call.Tools, r.tools(call, *spec, primers, &reports))
		result, err := next(ctx, &mine)
		result.Recalls = append(result.Recalls, reports.all()...)
		if err != nil || spec.Retain != "on-complete" {
			return result, err
		}
		effects, err := r.retain(call, *spec, result.Output)
		result.Effects = append(result.Effects, effects...)
		return result, err
	}
}

// writable is a permanent failure where the tags leave no room for those that retention adds: before the task is done, not after.
func writable(spec cairn.MemorySpec) error {
	if spec.Retain != string(OnComplete) {
		return nil
	}
	for _, bank := range writeBanks(spec) {
		if _, err := WriteTags(bank, spec.Tags, nil, "run"); err != nil {
			return &cairn.Failure{Code: BadTag, Message: "memory: retain: " + err.Error(), Permanent: true}
		}
	}
	return nil
}

// conversing gives a call its thread's history, and appends its turn when it has succeeded.
func (r *Runtime) conversing(next cairn.Run, call *cairn.Call, config json.RawMessage) cairn.Run {
	return func(ctx context.Context, mine *cairn.Call) (cairn.Result, error) {
		var t talk
		err := json.Unmarshal(config, &t)
		if err == nil {
			mine.History, err = r.history(ctx, call, t)
		}
		if err != nil {
			return cairn.Result{}, fmt.Errorf("memory: the conversation %s: %w", t.Thread.ID, err)
		}
		result, err := next(ctx, mine)
		if err != nil {
			return result, err
		}
		effect, err := turn(call, t, result.Output)
		result.Effects = append(result.Effects, effect)
		return result, err
	}
}

// recaller is who answers.
func (r *Runtime) recaller() Recaller {
	if r.Recaller != nil {
		return r.Recaller
	}
	return r.Store
}

// snapshot is the block of the task's first attempt, out of the journal, or made now. That it could not be fetched is in
// its report and no error; that it could not be journaled is one.
func (r *Runtime) snapshot(ctx context.Context, call *cairn.Call, spec cairn.MemorySpec) (snap snapshot, fresh bool, err error) {
	if call.Journal != nil {
		if raw, ok := call.Journal.Lookup(snapshotName); ok {
			return snap, false, json.Unmarshal(raw, &snap)
		}
	}
	query := spec.Query
	if spec.Recall == "prompt" {
		if err := json.Unmarshal(call.Input, &query); err != nil {
			return snap, false, fmt.Errorf("memory: the task's stored prompt can't be read: %w", err)
		}
	}
	snap = r.fetch(ctx, spec, query)
	if err := ctx.Err(); err != nil { // the attempt is over, not the memory
		return snap, false, context.Cause(ctx)
	}
	if call.Journal == nil {
		return snap, true, nil
	}
	raw, err := json.Marshal(snap)
	if err == nil {
		err = call.Journal.Record(ctx, snapshotName, raw)
	}
	return snap, true, err
}

func (r *Runtime) timeout() time.Duration {
	if r.Timeout > 0 {
		return r.Timeout
	}
	if d, err := time.ParseDuration(os.Getenv(TimeoutEnv)); err == nil && d > 0 {
		return d
	}
	return DefaultTimeout
}

// answer is what one bank gave.
type answer struct {
	found   Found
	primers map[string]Primer
	err     error
}

// fetch makes a task's block of what its banks answer. Nothing of it is an error.
func (r *Runtime) fetch(ctx context.Context, spec cairn.MemorySpec, query string) snapshot {
	answers := r.gather(ctx, spec.Banks, func(ctx context.Context, bank string) answer { return r.ask(ctx, spec, bank, query) })
	return assemble(spec, answers, r.files(spec.Primers))
}

// files reads the primers that are files. One that is not there is left out, as a bank's is; so is one that can't be read.
func (r *Runtime) files(ids []string) map[string]string {
	texts := map[string]string{}
	for _, id := range ids {
		if r.Primers == nil || !fs.ValidPath(id) {
			continue
		}
		if text, err := fs.ReadFile(r.Primers, id); err == nil && len(text) > 0 {
			texts[id] = string(text)
		}
	}
	return texts
}

// filed is the label of a primer that is a file.
const filed = "file"

// gather asks all banks at once, for as long as the timeout allows: who has not answered by then is left out, also a backend
// that does not mind its context.
func (r *Runtime) gather(ctx context.Context, banks []string, ask func(ctx context.Context, bank string) answer) []answer {
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	type numbered struct {
		bank int
		answer
	}
	arrived := make(chan numbered, len(banks))
	answers := make([]answer, len(banks))
	for i, bank := range banks {
		answers[i].err = context.DeadlineExceeded // until it arrives
		go func() { arrived <- numbered{i, ask(ctx, bank)} }()
	}
	for range banks {
		select {
		case a := <-arrived:
			answers[a.bank] = a.answer
			continue
		case <-ctx.Done():
		}
		// Who notices that the time is over gets the chance to say so.
		select {
		case a := <-arrived:
			answers[a.bank] = a.answer
		case <-time.After(grace):
			return answers
		}
	}
	return answers
}

// grace is how long a backend may take to notice that its time is over.
const grace = 50 * time.Millisecond

// ask gets rows and primers of a bank, side by side.
func (r *Runtime) ask(ctx context.Context, spec cairn.MemorySpec, bank, query string) (a answer) {
	var both errgroup.Group
	both.Go(func() (err error) {
		if spec.Recall != "off" {
			a.found, err = r.recall(ctx, Query{Bank: bank, Text: query, Filter: RecallFilter(bank, spec.Tags, nil), Budget: Budget(spec.Budget)})
		}
		return err
	})
	both.Go(func() (err error) {
		defer blamed(&err)
		if len(spec.Primers) > 0 {
			a.primers, err = r.recaller().Primers(ctx, bank, spec.Primers, RecallFilter(bank, spec.Tags, nil))
		}
		return err
	})
	a.err = both.Wait()
	return a
}

// recall asks a bank, and takes a panic of a backend for a failure.
func (r *Runtime) recall(ctx context.Context, q Query) (found Found, err error) {
	defer blamed(&err)
	return r.recaller().Recall(ctx, q)
}

// blamed makes a panic of a backend its error.
func blamed(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the backend panicked: %v", p)
	}
}

// assemble makes the block of what the banks have answered, and reports on each.
func assemble(spec cairn.MemorySpec, answers []answer, files map[string]string) snapshot {
	var snap snapshot
	var primers []part
	for _, id := range spec.Primers {
		before := len(primers)
		for i, bank := range spec.Banks {
			if p, ok := answers[i].primers[id]; ok {
				primers = append(primers, part{bank, id, p.Text, p.Note})
			}
		}
		if text, ok := files[id]; ok && len(primers) == before {
			primers = append(primers, part{bank: filed, id: id, text: text})
		}
	}
	text, kept := block(primers, ranked(spec.Banks, answers), spec.MaxTokens)
	snap.Block = text
	snap.Report = cairn.Recall{Bytes: len(text), Rows: len(kept.Rows), Primers: len(kept.Primers), Omitted: kept.Omitted}
	for _, p := range kept.Primers {
		if p.item != (Ref{}) {
			snap.Primers = append(snap.Primers, p.item)
		}
	}
	failed := 0
	for i, bank := range spec.Banks {
		b := reportOf(bank, answers[i], kept.Repeated)
		for _, p := range kept.Rows {
			if p.bank == bank {
				b.Sources = append(b.Sources, p.id)
			}
		}
		if answers[i].err != nil {
			failed++
		}
		snap.Report.Banks = append(snap.Report.Banks, b)
	}
	snap.Report.Status = overall(snap.Report.Banks, failed, kept.Cut || len(kept.Omitted) > 0, text != "")
	return snap
}

// ranked are the rows of all banks, best first.
func ranked(banks []string, answers []answer) []part {
	rows := make([][]part, len(banks))
	for i, bank := range banks {
		for _, row := range answers[i].found.Rows {
			rows[i] = append(rows[i], part{bank, row.ID, row.Text, row.Item})
		}
	}
	return interleaved(rows)
}

// reportOf is a bank's part of the report.
func reportOf(bank string, a answer, out repeated) cairn.BankRecall {
	b := cairn.BankRecall{Bank: bank, Status: cairn.RecallOK, Arms: a.found.Arms, Candidates: a.found.Candidates, Dropped: out.in(bank, a.found.Dropped)}
	switch {
	case errors.Is(a.err, context.DeadlineExceeded):
		b.Status, b.Error = cairn.RecallTimeout, a.err.Error()
	case a.err != nil:
		b.Status, b.Error = cairn.RecallFailed, a.err.Error()
	case len(a.found.Rows)+len(a.primers) == 0:
		b.Status = cairn.RecallEmpty
	}
	return b
}

// overall is the status of a whole recall: the worst that has cost something.
func overall(banks []cairn.BankRecall, failed int, cut, any bool) cairn.RecallStatus {
	for _, status := range []cairn.RecallStatus{cairn.RecallFailed, cairn.RecallTimeout} {
		if slices.ContainsFunc(banks, func(b cairn.BankRecall) bool { return b.Status == status }) {
			return status
		}
	}
	switch {
	case cut:
		return cairn.RecallTruncated
	case any && failed == 0:
		return cairn.RecallOK
	}
	return cairn.RecallEmpty
}

// writeBanks are the banks that a task writes to.
func writeBanks(spec cairn.MemorySpec) []string {
	if spec.WriteBanks != nil {
		return spec.WriteBanks
	}
	return spec.Banks
}
