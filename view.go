package cairn

import (
	"crypto/sha256"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"reflect"
	"time"
)

// View is what a render may read: the fold of the committed frames, seen from one scope. It is valid during the
// call it was given to and panics afterwards. Every read is recorded; a render is repeated when, and only when,
// something it read has changed.
type View struct{ r Reader }

// Reader is the engine's side of a View. It panics once the View's render is over.
type Reader interface {
	// Find looks from the innermost scope outwards.
	Find(key string) (Record, bool)
	// Prev looks in the same place one iteration before.
	Prev(key string) (Record, bool)
	// Latest, All and At look below the scope, through loops.
	Latest(key string) (Record, bool)
	All(key string) iter.Seq[Record]
	At(key string, iteration int) (Record, bool)
	// Convert returns a record's output as the type's schema wants it, or says why it can't.
	Convert(rec Record, t reflect.Type) (json.RawMessage, error)
	// In is the reader of the scope with that name below this one.
	In(name string) Reader
	Loop(id string) LoopStatus
	Patched(id string) bool
	// Carried returns the state that the run was handed, as the type's schema wants it, or says why it can't; false is
	// none.
	Carried(t reflect.Type) (json.RawMessage, bool, error)
	Generation() int
	Now() time.Time
	Run() string
	Scope() string
}

// Record is a committed outcome.
type Record struct {
	Path   string
	Status Status
	Output json.RawMessage
	// Schema is the hash of the schema the output was written with.
	Schema string
	// Frame is the number of the frame that committed it.
	Frame     int64
	Iteration int
	Failure   *Failure
	Reason    string
}

// LoopStatus is where a loop stands.
type LoopStatus struct {
	// Iteration is the current one, from 0, or the last one once Done.
	Iteration int
	Done      bool
	// Exhausted: it ended at Max, without its Until.
	Exhausted bool
}

// NewView is for engines.
func NewView(r Reader) *View { return &View{r} }

// Now is the time of the frame being made. It never goes backwards and wakes nobody: a render that waits for a moment
// needs a timer.
func (v *View) Now() time.Time { return v.r.Now() }

// Run is the run's id.
func (v *View) Run() string { return v.r.Run() }

// Scope is the path of the scope the View looks from; "" at the root.
func (v *View) Scope() string { return v.r.Scope() }

// Iteration is the number of the innermost loop iteration around the View, from 0; 0 outside of loops.
func (v *View) Iteration() int {
	for scope := v.r.Scope(); scope != ""; scope, _ = Split(scope) {
		if _, i, ok := CutIteration(scope); ok {
			return i
		}
	}
	return 0
}

// In looks from the scope with that name below this one: the way to read the outputs of a ForEach item.
func (v *View) In(name string) *View { return &View{v.r.In(name)} }

// Loop tells where a loop of this scope stands.
func (v *View) Loop(id string) LoopStatus { return v.r.Loop(id) }

// Patched decides once, for the View's run or loop iteration, whether code added under this id applies: true
// where the scope is rendered for the first time by code that asks, false where it was already rendered without. The decision is stored.
func (v *View) Patched(id string) bool { return v.r.Patched(id) }

// Carried returns the state that the run before has handed over, as JSON of the type: false in a first run and where the
// handoff had no state, STATE_TYPE where it was written as another type. It never changes during a run. Package handoff
// has the typed reader.
func (v *View) Carried(t reflect.Type) (state json.RawMessage, ok bool, err error) {
	return v.r.Carried(t)
}

// Generation counts the runs of a chain, each of which handed over to the next: 1 in the first.
func (v *View) Generation() int { return v.r.Generation() }

// Rand returns numbers that are the same on every render of this run, scope and name.
func (v *View) Rand(name string) *rand.Rand {
	seed := sha256.Sum256([]byte(v.r.Run() + "\x00" + v.r.Scope() + "\x00" + name))
	return rand.New(rand.NewChaCha8(seed))
}
