package crashtest

import (
	"fmt"
	"slices"
)

// logReader follows a run's side-effect log line by line, beside what the frames say.
type logReader struct {
	ev  *Evidence
	h   *history
	bad *complaints

	// acked says which process acknowledged a frame; reigns which one has acknowledged frames of a reign, the time
	// between two resumes.
	acked  map[int64]string
	reigns map[int]string
	// owner is who acknowledged a frame of the newest reign, now its number. Others are deposed: what they still do before
	// they notice can't be prevented, only kept out of the store.
	owner string
	now   int
	// starts and ends count lines of an attempt, keys holds the idempotency key of each path.
	starts, ends map[try]int
	keys         map[string]string
	// steps holds the value of each sub-step that was acknowledged, by path and name.
	steps map[[2]string]string
	// delivered holds the body of each effect by operation id.
	delivered map[string]string
}

// checkLog compares the log with the frames.
func checkLog(ev *Evidence, h *history, effects func(path string) int, bad *complaints) {
	r := &logReader{ev: ev, h: h, bad: bad, acked: map[int64]string{}, reigns: map[int]string{}, starts: map[try]int{}, ends: map[try]int{},
		keys: map[string]string{}, steps: map[[2]string]string{}, delivered: map[string]string{}}
	if head := int64(len(ev.Frames)); ev.Piped > head {
		bad.add("I11", "frame %d was acknowledged, and the last one is frame %d", ev.Piped, head)
	}
	for i := range ev.Log {
		r.line(&ev.Log[i])
	}
	r.results()
	r.effects(effects)
}

func (r *logReader) line(l *Line) {
	at := try{l.Path, l.Attempt}
	switch l.Kind {
	case Acked:
		r.frame(l)
	case BodyStart:
		r.start(l, at)
	case BodyDone, BodyFailed, BodyStopped:
		if r.ends[at]++; r.ends[at] > r.starts[at] {
			r.bad.add("log", "%s attempt %d ends more often than it starts", l.Path, l.Attempt)
		}
	case StepRun:
		if value, ok := r.steps[[2]string{l.Path, l.Name}]; ok && l.Who == r.owner {
			r.bad.add("I7", "step %s of %s is executed in attempt %d after it was acknowledged with %s", l.Name, l.Path, l.Attempt, value)
		}
	case StepDone:
		id := [2]string{l.Path, l.Name}
		if value, ok := r.steps[id]; ok && value != l.Value {
			r.bad.add("I4", "step %s of %s was acknowledged with %s and then with %s", l.Name, l.Path, value, l.Value)
		}
		r.steps[id] = l.Value
	case Delivering:
		if body, ok := r.delivered[l.Key]; ok && body != l.Value {
			r.bad.add("I13", "effect %s is delivered as %s and as %s", l.Key, body, l.Value)
		}
		r.delivered[l.Key] = l.Value
	}
}

// frame is an acknowledgement: the frame is there, as acknowledged, and only the run's owner of that time gave it.
func (r *logReader) frame(l *Line) {
	if l.N > int64(len(r.h.hashes)) {
		r.bad.add("I11", "frame %d was acknowledged, and the last one is frame %d", l.N, len(r.h.hashes))
		return
	}
	if have := r.h.hashes[l.N-1]; have != l.Hash {
		r.bad.add("I4", "frame %d was acknowledged by %s with hash %s, and there it has %s", l.N, l.Who, l.Hash, have)
	}
	if who, ok := r.acked[l.N]; ok && who != l.Who {
		r.bad.add("I4", "frame %d was acknowledged by %s and by %s", l.N, who, l.Who)
	}
	r.acked[l.N] = l.Who
	reign := r.reign(l.N)
	if who, ok := r.reigns[reign]; ok && who != l.Who {
		r.bad.add("I4", "frame %d is by %s in the reign of %s", l.N, l.Who, who)
	}
	r.reigns[reign] = l.Who
	if reign >= r.now {
		r.owner, r.now = l.Who, reign
	}
}

// reign counts how often the run had been resumed when frame n was made.
func (r *logReader) reign(n int64) int {
	i, found := slices.BinarySearch(r.h.resumed, n)
	if found {
		i++
	}
	return i
}

func (r *logReader) start(l *Line, at try) {
	if r.starts[at]++; r.starts[at] > 1 {
		r.bad.add("I7", "attempt %d of %s is executed a second time, by %s", l.Attempt, l.Path, l.Who)
	}
	n, ok := r.h.started[at]
	switch {
	case !ok:
		r.bad.add("I3", "attempt %d of %s has begun, and no frame has started it", l.Attempt, l.Path)
	case r.acked[n] != l.Who:
		r.bad.add("I3", "attempt %d of %s has begun at %s before frame %d, which starts it, was acknowledged there", l.Attempt, l.Path, l.Who, n)
	}
	if done, ok := r.h.accepted[l.Path]; ok {
		if _, known := r.acked[done.frame]; known && l.Who == r.owner || l.Attempt > done.attempt {
			r.bad.add("I7", "attempt %d of %s has begun after frame %d has accepted the result of attempt %d", l.Attempt, l.Path, done.frame, done.attempt)
		}
	}
	if key, ok := r.keys[l.Path]; ok && key != l.Key || l.Key == "" {
		r.bad.add("I7", "attempt %d of %s has the idempotency key %q, others have %q", l.Attempt, l.Path, l.Key, key)
	}
	r.keys[l.Path] = l.Key
}

// results compares what was accepted with what was computed, and the journal with what was acknowledged.
func (r *logReader) results() {
	for _, path := range r.h.acceptedPaths() {
		at := try{path, r.h.accepted[path].attempt}
		if _, logged := r.keys[path]; logged && r.ends[at] == 0 {
			r.bad.add("I3", "the result of %s attempt %d was accepted, and nobody has computed it", path, at.n)
		}
	}
	paths := map[string]string{}
	for path, key := range r.keys {
		if other, ok := paths[key]; ok {
			r.bad.add("I7", "%s and %s have one idempotency key, %q", path, other, key)
		}
		paths[key] = path
	}
	entries := map[[2]string]bool{}
	for _, e := range r.ev.Entries {
		entries[[2]string{e.Path, e.Name}] = true
	}
	for id, value := range r.steps {
		if !entries[id] {
			r.bad.add("I11", "step %s of %s was acknowledged with %s, and the journal does not have it", id[1], id[0], value)
		}
	}
}

// effects says that an effect is delivered, or waits for it, if and only if its frame is committed.
func (r *logReader) effects(count func(path string) int) {
	committed := map[string]bool{}
	for _, path := range r.h.acceptedPaths() {
		for i := range count(path) {
			id := fmt.Sprintf("%s/%s@%d#%d", r.ev.Run, path, r.h.accepted[path].attempt, i)
			committed[id] = true
			if _, ok := r.delivered[id]; !ok && !slices.Contains(r.ev.Outbox, id) {
				r.bad.add("I13", "effect %s is committed and neither delivered nor waiting", id)
			}
		}
	}
	for id := range r.delivered {
		if !committed[id] {
			r.bad.add("I13", "effect %s is delivered and not committed", id)
		}
	}
	for _, id := range r.ev.Outbox {
		if !committed[id] {
			r.bad.add("I13", "effect %s waits and is not committed", id)
		}
	}
}
