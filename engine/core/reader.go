package core

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/cairnrun/cairn"
)

// reader implements cairn.Reader on a machine's state, from one scope, for the length of one call.
type reader struct {
	m     *Machine
	scope string
	// cell is the render that reads; nil for Until and lazy inputs, which run once and wake nobody.
	cell *cell
	call *call
}

// call is the life of a View, shared by all readers made from it.
type call struct {
	over bool
	// hits are the paths whose outcomes were read.
	hits []string
}

// readKind is what a read is of: a task's outcome, a key's values below a scope, a loop's counter, the time.
type readKind byte

const (
	readTask readKind = iota
	readValues
	readLoop
	readTime
)

// read names one thing that can change.
type read struct {
	kind readKind
	path string // or the scope of readValues
	key  string
}

// alive panics once the call is over: a View that was kept would show a state that no frame records.
func (r *reader) alive() {
	if r.call.over {
		panic(fmt.Errorf("a View was used after the call it was given to had returned"))
	}
}

// use records a read.
func (r *reader) use(what read) {
	r.alive()
	if r.cell == nil {
		return
	}
	if _, known := r.cell.reads[what]; !known {
		r.cell.reads[what] = struct{}{}
		r.m.memo.watch(what, r.cell)
	}
}

func (r *reader) Find(key string) (cairn.Record, bool) {
	for scope := r.scope; ; scope, _ = cairn.Split(scope) {
		if rec, ok := r.outcome(cairn.Join(scope, key)); ok || scope == "" {
			return rec, ok
		}
	}
}

// Prev looks in the iteration before, from the same depth outwards, up to the iteration itself.
func (r *reader) Prev(key string) (cairn.Record, bool) {
	r.alive()
	around := r.scope
	for around != "" {
		if loop, i, ok := cairn.CutIteration(around); ok {
			if i == 0 {
				break
			}
			before := cairn.Iteration(loop, i-1)
			for scope := r.scope; ; scope, _ = cairn.Split(scope) {
				rec, ok := r.outcome(cairn.Join(before+scope[len(around):], key))
				if ok || scope == around {
					return rec, ok
				}
			}
		}
		around, _ = cairn.Split(around)
	}
	return cairn.Record{}, false
}

// outcome reads one task.
func (r *reader) outcome(path string) (cairn.Record, bool) {
	r.use(read{kind: readTask, path: path})
	t := r.m.state.Tasks[path]
	if !t.Ended() {
		return cairn.Record{}, false
	}
	return r.record(path, t, -1), true
}

func (r *reader) record(path string, t *Task, iteration int) cairn.Record {
	r.call.hits = append(r.call.hits, path)
	return cairn.Record{
		Path: path, Status: cairn.Status(t.Status), Output: t.Output, Schema: t.Schema, Frame: t.Frame,
		Iteration: iteration, Failure: t.Failure, Reason: t.Reason,
	}
}

func (r *reader) below(key string) []entry {
	r.use(read{kind: readValues, path: r.scope, key: key})
	return r.m.state.values[valueKey{r.scope, key}]
}

func (r *reader) Latest(key string) (cairn.Record, bool) {
	values := r.below(key)
	if len(values) == 0 {
		return cairn.Record{}, false
	}
	last := values[len(values)-1]
	return r.record(last.path, last.task, last.iteration), true
}

func (r *reader) All(key string) iter.Seq[cairn.Record] {
	values := r.below(key)
	return func(yield func(cairn.Record) bool) {
		for _, e := range values {
			if r.alive(); !yield(r.record(e.path, e.task, e.iteration)) {
				return
			}
		}
	}
}

func (r *reader) At(key string, iteration int) (cairn.Record, bool) {
	values := r.below(key)
	for i := len(values) - 1; i >= 0; i-- {
		if e := values[i]; e.iteration == iteration {
			return r.record(e.path, e.task, e.iteration), true
		}
	}
	return cairn.Record{}, false
}

// Convert gives a stored output to a reader of type t. Of another schema it is a mistake, unless there is a
// migration, or the output is from before a change of code that was adopted.
func (r *reader) Convert(rec cairn.Record, t reflect.Type) (json.RawMessage, error) {
	hash, err := r.m.schema(t)
	if err != nil || hash == rec.Schema {
		return rec.Output, err
	}
	_, key := cairn.Split(rec.Path)
	if migrate := r.m.def.Migrations[key]; migrate != nil {
		return migrate(rec.Output, rec.Schema)
	}
	if rec.Frame <= r.m.state.Adopted {
		return rec.Output, nil
	}
	return nil, &cairn.Error{Code: cairn.KeyType, Path: rec.Path,
		Message: fmt.Sprintf("the output was written with schema %s and is read as %s, schema %s", rec.Schema, t, hash)}
}

func (r *reader) In(name string) cairn.Reader {
	return &reader{m: r.m, scope: cairn.Join(r.scope, name), cell: r.cell, call: r.call}
}

func (r *reader) Loop(id string) cairn.LoopStatus {
	path := cairn.Join(r.scope, id)
	r.use(read{kind: readLoop, path: path})
	if l := r.m.state.Loops[path]; l != nil {
		return cairn.LoopStatus{Iteration: l.Iteration, Done: l.Done, Exhausted: l.Exhausted}
	}
	return cairn.LoopStatus{Iteration: r.m.state.iteration(path)}
}

// Patched answers from the state, or decides: true where this is the first render of the scope, false where an earlier
// version of the code has rendered it without asking.
func (r *reader) Patched(id string) bool {
	r.alive()
	scope := r.scope
	for scope != "" {
		if _, _, ok := cairn.CutIteration(scope); ok {
			break
		}
		scope, _ = cairn.Split(scope)
	}
	if answer, ok := r.m.state.Patches[scope+"#"+id]; ok {
		return answer
	}
	answer := !r.m.restoring
	r.m.decide(Decision{Kind: Patched, Path: scope, Reason: id, Yes: answer})
	return answer
}

// Carried reads the run's envelope, which never changes: the read wakes nobody. Types are compared as Convert does.
func (r *reader) Carried(t reflect.Type) (json.RawMessage, bool, error) {
	r.alive()
	env := r.m.state.Envelope
	if env == nil || env.State == nil {
		return nil, false, nil
	}
	hash, err := r.m.schema(t)
	if err != nil {
		return nil, false, err
	}
	if hash != env.Schema && r.m.state.Adopted == 0 {
		return nil, false, &cairn.Error{Code: cairn.StateType,
			Message: fmt.Sprintf("the state was handed over with schema %s and is read as %s, schema %s", env.Schema, t, hash),
			Next:    "read it as the type that ContinueAsNew was given"}
	}
	return env.State, true, nil
}

func (r *reader) Generation() int { r.alive(); return r.m.state.Generation() }

func (r *reader) Now() time.Time {
	r.use(read{kind: readTime})
	return time.UnixMilli(r.m.state.Time).UTC()
}

func (r *reader) Run() string   { r.alive(); return r.m.state.Run }
func (r *reader) Scope() string { r.alive(); return r.scope }
