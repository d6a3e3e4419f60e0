package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnrun/cairn"
)

// HandingOn is the code of the failure that takes a handoff outward: no Try catches it, Finally parts run. Only a node
// that has decided on a handoff can raise it: its Path is a key of State.Handoffs.
const HandingOn cairn.Code = "CONTINUE_AS_NEW"

// MaxState is the largest state of a handoff, in bytes of JSON.
const MaxState = 10 << 20

// Envelope is what a successor knows of the run before it. It never changes.
type Envelope struct {
	// State is what was handed over, nil for nothing; Schema is the hash of its schema, "" where it has none.
	State  json.RawMessage `json:"state,omitempty"`
	Schema string          `json:"schema,omitempty"`
	// Parent is the run before, Root the first of the chain; Generation counts from 1, which has no envelope.
	Parent     string `json:"parent"`
	Root       string `json:"root"`
	Generation int    `json:"generation"`
	// Loops are iterations that loops begin with, by path.
	Loops map[string]int `json:"loops,omitempty"`
}

// Kept is an output that the run before has handed over. It stands for a finished task on its path.
type Kept struct {
	Path      string           `json:"p"`
	Schema    string           `json:"s,omitempty"`
	Output    json.RawMessage  `json:"o"`
	Artifacts []cairn.Artifact `json:"art,omitempty"`
}

// Handoff is what a node has decided to hand over.
type Handoff struct {
	State  json.RawMessage `json:"state,omitempty"`
	Schema string          `json:"schema,omitempty"`
	// Input replaces the run's, if there is any.
	Input json.RawMessage `json:"input,omitempty"`
	// Keep are keys, looked up from the node's scope outwards when the successor is made.
	Keep []string `json:"keep,omitempty"`
	// Loops are the iterations a HandoffEvery goes on with, the innermost loop's last; the state is then the run's own.
	Loops map[string]int `json:"loops,omitempty"`
}

// Successor is the run that was asked to go on.
type Successor struct {
	ID string `json:"id"`
	// Ready: it can, and does so with the frame that ends this run.
	Ready bool `json:"ready,omitempty"`
}

// Generation counts the runs of the chain, from 1.
func (s *State) Generation() int {
	if s.Envelope == nil {
		return 1
	}
	return s.Envelope.Generation
}

// Root is the id of the chain's first run.
func (s *State) Root() string {
	if s.Envelope == nil {
		return s.Run
	}
	return s.Envelope.Root
}

// handed reports that a failure is a handoff on its way outward.
func (s *State) handed(f *cairn.Failure) bool {
	return f != nil && f.Code == HandingOn && s.Handoffs[f.Path] != nil
}

// replaced forgets a handoff that another failure takes the place of: should its node's turn come again, it is decided anew.
func (s *State) replaced(was, by *cairn.Failure) {
	if s.handed(was) && !s.handed(by) {
		delete(s.Handoffs, was.Path)
	}
}

// firstIteration is the one that a loop begins with in this run.
func (s *State) firstIteration(loop string) int {
	if s.Envelope == nil {
		return 0
	}
	return s.Envelope.Loops[loop]
}

// iteration is the one that a loop is in. A loop that is to go on where the run before left it has not begun by that.
func (s *State) iteration(loop string) int {
	if l := s.Loops[loop]; l != nil {
		return l.Iteration
	}
	return s.firstIteration(loop)
}

// inherit takes over what a run's first event says of the run before.
func (s *State) inherit(e *Event) {
	s.Envelope = e.Envelope
	for i := range e.Kept {
		k := &e.Kept[i]
		t := s.task(k.Path)
		s.end(k.Path, t, TaskFinished)
		t.Schema, t.Output, t.Artifacts, t.Frame, t.Kept = k.Schema, k.Output, k.Artifacts, s.Frame, true
		s.index(k.Path, t)
	}
}

// succession applies what the owner says of a successor it was asked for.
func (s *State) succession(e *Event) error {
	if s.Successor == nil {
		return fmt.Errorf("%s, and no successor was asked for", e.Kind)
	}
	switch {
	case e.Kind == HandedOver:
		s.Successor.Ready = true
		return nil
	case e.Failure == nil:
		return fmt.Errorf("%s without a reason", e.Kind)
	case e.Failure.Permanent:
		s.replaced(s.Failure, e.Failure)
		s.Failure = e.Failure
	default:
		s.Status, s.Block = Blocked, e.Failure
	}
	s.Successor = nil
	return nil
}

// asked says that a successor was asked for, and that nothing has come between.
func (s *State) asked(e *Event) bool {
	return s.Status == Running && s.Cancelling == nil && s.Successor != nil && (e.Kind == HandoffRefused || s.Successor.ID == e.Name)
}

// normalHandoff is what normal does to the parts of a first event.
func normalHandoff(e *Event) {
	if e.Envelope != nil {
		env := *e.Envelope
		env.State, env.Loops = normalJSON(env.State), maps.Clone(env.Loops)
		if len(env.Loops) == 0 {
			env.Loops = nil
		}
		e.Envelope = &env
	}
	if e.Kept = slices.Clone(e.Kept); len(e.Kept) == 0 {
		e.Kept = nil
	}
	for i := range e.Kept {
		k := &e.Kept[i]
		if k.Output = normalJSON(k.Output); k.Output == nil {
			k.Output = json.RawMessage("null")
		}
		if len(k.Artifacts) == 0 {
			k.Artifacts = nil
		}
	}
}

// normalJSON is JSON as encoding/json writes it into a frame; nil for what is none.
func normalJSON(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return nil
	}
	return text
}

// handOn decides, once, what a continue-as-new hands over, and takes it outward.
func (m *Machine) handOn(n *node) {
	if m.state.Handoffs[n.path] == nil {
		h, f := m.handoff(n)
		if f != nil {
			m.raise(n, f)
			return
		}
		begin(n)
		m.decide(Decision{Kind: HandingOver, Path: n.path, Handoff: h})
	}
	m.raise(n, handing(n.path))
}

func handing(path string) *cairn.Failure {
	return &cairn.Failure{Code: HandingOn, Path: path, Permanent: true, Message: "a successor goes on"}
}

// handoff makes what a node hands over, or says why it can't be.
func (m *Machine) handoff(n *node) (*Handoff, *cairn.Failure) {
	fail := func(code cairn.Code, format string, args ...any) (*Handoff, *cairn.Failure) {
		return nil, &cairn.Failure{Code: code, Path: n.path, Permanent: true, Message: fmt.Sprintf(format, args...)}
	}
	h := &Handoff{Keep: slices.Clone(n.handoff.Keep)}
	for _, part := range []struct {
		name string
		to   *json.RawMessage
		make func() (json.RawMessage, string, error)
	}{{"state", &h.State, func() (raw json.RawMessage, schema string, err error) {
		if n.handoff.State != nil {
			m.view(n.scope, nil, func(v *cairn.View) { raw, schema, err = n.handoff.State(v) })
		}
		return raw, schema, err
	}}, {"input", &h.Input, func() (raw json.RawMessage, schema string, err error) {
		if n.handoff.Input != nil {
			raw, err = n.handoff.Input()
		}
		return raw, h.Schema, err
	}}} {
		raw, hash, err := part.make()
		if err != nil {
			return fail(cairn.StateInvalid, "the %s can't be handed over: %v", part.name, err)
		}
		if *part.to, h.Schema = normalJSON(raw), hash; raw != nil && *part.to == nil {
			return fail(cairn.StateInvalid, "the %s can't be handed over: it is not JSON", part.name)
		}
		if len(*part.to) > MaxState {
			return fail(cairn.StateTooLarge, "the %s has %d bytes, more than %d; hand over a shorter one, and put bulk into artifacts",
				part.name, len(*part.to), MaxState)
		}
	}
	for _, key := range h.Keep {
		path, found := m.keepable(n.scope, key)
		_, inLoop := m.deepest(n.scope, key)
		if found && strings.Contains(path, "[") || !found && inLoop {
			return fail(cairn.KeepInLoop, "Keep names %q, whose value is of a loop's iteration; carry it in the State", key)
		}
	}
	return h, nil
}

// keepable finds the finished task that a key names, from a scope outwards.
func (m *Machine) keepable(scope, key string) (path string, ok bool) {
	for ; ; scope, _ = cairn.Split(scope) {
		path = cairn.Join(scope, key)
		if t := m.state.Tasks[path]; t != nil && t.Status == TaskFinished {
			return path, true
		}
		if scope == "" {
			return "", false
		}
	}
}

// deepest looks for values of a key in loops, from a scope outwards.
func (m *Machine) deepest(scope, key string) (path string, ok bool) {
	for ; ; scope, _ = cairn.Split(scope) {
		if values := m.state.values[valueKey{scope, key}]; len(values) > 0 {
			return values[len(values)-1].path, true
		}
		if scope == "" {
			return "", false
		}
	}
}

// replaceHandoff deals with a try that leaves with a failure of its Finally, in a part that was closed by a handoff: the
// outermost such part fails instead.
func (m *Machine) replaceHandoff(n *node, f *cairn.Failure) {
	s := m.state
	var outermost *node
	for p := n.parent; p != nil; p = p.parent {
		if p.isFinally() {
			break
		}
		if p.closed && s.handed(m.closing(p)) {
			outermost = p
		}
	}
	if outermost == nil {
		return
	}
	replaced := *f
	replaced.Cause = m.closing(outermost)
	if try := outermost.parent; try != nil {
		m.decide(Decision{Kind: Closed, Path: try.path, Failure: &replaced})
	} else {
		m.decide(Decision{Kind: Failing, Failure: &replaced})
	}
	m.shut(outermost, manner(&replaced), around(&replaced))
}

// closing is the failure that has closed a part; nil for a part of anything but a try, or the root.
func (m *Machine) closing(part *node) *cairn.Failure {
	switch {
	case part.parent == nil:
		return m.state.Failure
	case part.parent.kind == cairn.KindTry && m.state.Tries[part.parent.path] != nil:
		return m.state.Tries[part.parent.path].Pending
	}
	return nil
}

// succeed goes on with a handoff that has reached the root, once all is quiet: it asks for the successor, and ends the
// run when that is there.
func (m *Machine) succeed(admit bool) {
	s := m.state
	switch {
	case !admit || s.Status != Running:
	case s.Successor != nil && s.Successor.Ready:
		m.end(Continued, nil)
	case s.Successor == nil:
		id := s.Root() + "." + strconv.Itoa(s.Generation()+1)
		m.decide(Decision{Kind: Succeeding, Reason: id})
		m.command(Command{Kind: ContinueAsNew, Successor: m.successor(id)})
	}
}

// successor is the first event of the run that goes on.
func (m *Machine) successor(id string) *Event {
	s := m.state
	path := s.Failure.Path
	h := s.Handoffs[path]
	env := &Envelope{State: h.State, Schema: h.Schema, Parent: s.Run, Root: s.Root(), Generation: s.Generation() + 1, Loops: h.Loops}
	e := &Event{Kind: RunStarted, Path: id, Name: s.Workflow, Payload: s.Input, Limit: s.Limit, Grace: s.Grace, Envelope: env}
	if h.Input != nil {
		e.Payload = h.Input
	}
	keep := func(path string) {
		t := s.Tasks[path]
		e.Kept = append(e.Kept, Kept{Path: path, Schema: t.Schema, Output: t.Output, Artifacts: t.Artifacts})
	}
	if h.Loops != nil {
		if s.Envelope != nil {
			env.State, env.Schema = s.Envelope.State, s.Envelope.Schema
		}
		for _, path := range m.lastIteration(path, h.Loops[path]-1) {
			keep(path)
		}
		return e
	}
	scope, _ := placeOf(path)
	for _, key := range h.Keep {
		if found, ok := m.keepable(scope, key); ok && !slices.ContainsFunc(e.Kept, func(k Kept) bool { return k.Path == found }) {
			keep(found)
		}
	}
	return e
}

// lastIteration lists what has finished in an iteration of a loop, in order.
func (m *Machine) lastIteration(loop string, i int) (paths []string) {
	below := cairn.Iteration(loop, i) + "/"
	for path, t := range m.state.Tasks {
		if t.Status == TaskFinished && strings.HasPrefix(path, below) {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, comparePaths)
	return paths
}

// passOn hands over in place of a loop's next iteration, if as many as HandoffEvery allows have been made in this run.
func (m *Machine) passOn(n *node, i int) bool {
	if n.loop.HandoffEvery <= 0 || i+1-m.state.firstIteration(n.path) < n.loop.HandoffEvery {
		return false
	}
	loops := map[string]int{n.path: i + 1}
	for scope := n.scope; scope != ""; scope, _ = cairn.Split(scope) {
		if loop, at, ok := cairn.CutIteration(scope); ok && at > 0 {
			loops[loop] = at
		}
	}
	m.decide(Decision{Kind: HandingOver, Path: n.path, I: i, Handoff: &Handoff{Loops: loops}})
	m.raise(n, handing(n.path))
	return true
}
