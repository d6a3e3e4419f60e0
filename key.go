package cairn

import (
	"encoding/json"
	"iter"
	"reflect"
)

// Key is the identity and the type of a task's output, declared once as a constant:
//
//	const plan cairn.Key[Plan] = "plan"
//
// A reader of another type does not compile. What the compiler can't see, two constants of one name and two
// types, is the error KEY_TYPE.
//
// Reads of a value that can't be decoded, and Must on a missing one, panic: inside of a render the engine
// turns that into a blocked run that says which key it was.
type Key[T any] string

// AnyKey is a key of any type.
type AnyKey interface{ Name() string }

// Keys lists keys of several types.
type Keys []AnyKey

// Name is the key as a string.
func (k Key[T]) Name() string { return string(k) }

// Get returns the value of the task with this key, looked up from the innermost scope of the View outwards. It is false
// until the task has finished with a value; Outcome tells a failed or skipped task from a pending one.
func (k Key[T]) Get(v *View) (T, bool) {
	rec, ok := v.r.Find(string(k))
	return value[T](v, rec, ok)
}

// Must is Get for a value that has to be there.
func (k Key[T]) Must(v *View) T {
	out, ok := k.Get(v)
	if !ok {
		panic(&Error{Code: KeyMissing, Path: string(k), Message: "there is no value for this key here yet",
			Next: "read it with Get, or order the reader after the task that makes it"})
	}
	return out
}

// Prev returns the value from the same place one iteration before, of the innermost loop around the View.
func (k Key[T]) Prev(v *View) (T, bool) {
	rec, ok := v.r.Prev(string(k))
	return value[T](v, rec, ok)
}

// Latest returns the newest value below the View's own scope, looking into loops but not into other scopes.
func (k Key[T]) Latest(v *View) (T, bool) {
	rec, ok := v.r.Latest(string(k))
	return value[T](v, rec, ok)
}

// All yields the values that Latest looks at, oldest first, each with the iteration of the outermost loop
// below the View's scope it belongs to; -1 for a value in no loop. Failed and skipped tasks have no value.
func (k Key[T]) All(v *View) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for rec := range v.r.All(string(k)) {
			if out, ok := value[T](v, rec, true); ok && !yield(rec.Iteration, out) {
				return
			}
		}
	}
}

// At returns the newest value of iteration i of the outermost loop below the View's scope.
func (k Key[T]) At(v *View, i int) (T, bool) {
	rec, ok := v.r.At(string(k), i)
	return value[T](v, rec, ok)
}

// Outcome returns how the task with this key ended, found as Get finds it.
func (k Key[T]) Outcome(v *View) Outcome[T] {
	rec, ok := v.r.Find(string(k))
	if !ok {
		return Outcome[T]{Status: Pending}
	}
	out := Outcome[T]{Status: rec.Status, Failure: rec.Failure, Reason: rec.Reason}
	out.Value, _ = value[T](v, rec, true)
	return out
}

// Outcome is how a task ended: with a value, a failure, or skipped.
type Outcome[T any] struct {
	Status Status
	Value  T
	// Failure is set for Failed.
	Failure *Failure
	// Reason is set for Skipped.
	Reason string
}

// Status is where a task stands, as far as a View can see.
type Status string

const (
	// Pending is everything that has no outcome yet, running included: a View sees committed outcomes only.
	Pending Status = ""
	Done    Status = "done"    // it has a value
	Failed  Status = "failed"  // no attempt is left
	Skipped Status = "skipped" // its SkipIf, or a budget, said so
	// Stopped: cancelled because what is around it failed or was cancelled.
	Stopped Status = "cancelled"
)

// value decodes a record as T.
func value[T any](v *View, rec Record, ok bool) (T, bool) {
	var out T
	if !ok || rec.Status != Done {
		return out, false
	}
	raw, err := v.r.Convert(rec, reflect.TypeFor[T]())
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		panic(&Error{Code: CodeOf(err, OutputDecode), Path: rec.Path, Message: "the stored output can't be read as " + reflect.TypeFor[T]().String(),
			Next: "give the workflow a migration for this key, or resume with the code that wrote it", Err: err})
	}
	return out, true
}
