package cairn

import "slices"

// Node is one element of a rendered tree. A node says what it is as a Spec: plain data, plus the closures that build
// what is below it. Lower must be pure and cheap; it is called on each render of the scope the node stands in.
type Node interface{ Lower() Spec }

// Nodes is a list of children. Nil entries are skipped, so that plain Go decides what is in a tree:
//
//	cairn.Nodes{build, maybe(v), test}
//
// A Nodes is itself a Node, a Sequence of its entries.
type Nodes []Node

// Lower makes a list stand for a Sequence.
func (ns Nodes) Lower() Spec { return Spec{Kind: KindSequence, Children: ns} }

// Sequence runs its children in order: each starts when the one before has finished.
type Sequence struct{ Children Nodes }

// Lower says what a Sequence is.
func (s Sequence) Lower() Spec { return Spec{Kind: KindSequence, Children: s.Children} }

// Parallel runs its children side by side and is finished when all are. An empty Parallel passes its
// predecessors on: what comes after it still waits for what comes before.
type Parallel struct {
	// Max is how many children may be in progress at once, counted as children, whatever is in them; higher
	// Priority first, then in order. 0 is no limit.
	Max      int
	Children Nodes
}

// Lower says what a Parallel is.
func (p Parallel) Lower() Spec {
	return Spec{Kind: KindParallel, Children: p.Children, Parallel: &ParallelSpec{Max: p.Max}}
}

// Branch picks a side. Unlike a plain Go if, the side not taken stays visible, as skipped.
type Branch struct {
	If         bool
	Then, Else Node
}

// Lower says what a Branch is.
func (b Branch) Lower() Spec {
	return Spec{Kind: KindBranch, Branch: &BranchSpec{If: b.If, Then: b.Then, Else: b.Else}}
}

// Scope gives what is below it a name of its own: a task x in Scope s has the path s/x. It renders on its own when
// only its own reads change.
type Scope struct {
	ID   string
	Body func(v *View) Node
}

// Lower says what a Scope is.
func (s Scope) Lower() Spec { return Spec{Kind: KindScope, ID: s.ID, Body: s.Body} }

// ForEach makes one Scope per item, named by key, never by index: an item keeps its results when others
// come and go. Put the result in a Parallel or a Sequence. Read an item's outputs from outside with
// View.In(key).
func ForEach[T any](items []T, key func(T) string, body func(v *View, item T) Node) Nodes {
	nodes := make(Nodes, 0, len(items))
	for _, item := range items {
		nodes = append(nodes, Scope{ID: key(item), Body: func(v *View) Node { return body(v, item) }})
	}
	return nodes
}

// Unbounded as Loop.Max or a retry's Max lifts the limit, which is never lifted silently.
const Unbounded = -1

// DefaultLoopMax is Loop.Max when it is 0.
const DefaultLoopMax = 5

// OnMax says what a Loop does at its Max when Until has not been true.
type OnMax string

const (
	// Fail, the default, fails the loop with LOOP_EXHAUSTED: an unfinished loop is not taken for a finished one.
	Fail OnMax = ""
	// ReturnLast finishes the loop; View.Loop tells that it was exhausted.
	ReturnLast OnMax = "return-last"
)

// Loop renders Body once per iteration, from 0, each under the scope ID[i], until Until says so.
type Loop struct {
	ID string
	// Max is the most iterations; 0 is 5, Unbounded is explicit, any other negative number a mistake.
	Max   int
	OnMax OnMax
	// Until sees the iteration that just finished, as that iteration's View, and is called once per iteration: its
	// verdict is stored. Nil never stops.
	Until func(v *View) bool
	// HandoffEvery, if not 0, lets a successor go on after that many iterations in one run, so that a long loop's history
	// stays short: the run ends as continued, and in the new run the loop begins with the next iteration number, of which
	// Max counts all. Handed over are the state that the run was given itself, the counters of the loops around, and
	// what the last iteration's tasks have given, so that Prev works; nothing else: what comes before the loop is
	// done again. It is acted on as a ContinueAsNew of package handoff, and the engine bounds the chain as it does for that
	// (MaxGenerations). Negative is a mistake.
	HandoffEvery int
	Body         func(v *View) Node
}

// Lower says what a Loop is.
func (l Loop) Lower() Spec {
	return Spec{Kind: KindLoop, ID: l.ID, Body: l.Body, Loop: &LoopSpec{Max: l.Max, OnMax: l.OnMax, HandoffEvery: l.HandoffEvery, Until: l.Until}}
}

// Try contains failures. When something in Body fails for good, the Try closes to new starts, cancels what runs in it
// and waits until all has settled; then Catch mounts, if Only lists the failure's code, and then Finally.
//
// Finally runs on every way out: success, failure caught or not, a failing Catch, cancellation of the run. What is
// not caught goes outward after Finally. A failing Catch or Finally replaces the failure, which stays as its cause.
//
// A Try adds nothing to the paths in it. What it remembers is stored under ID, by default "try"; two unnamed
// in one scope are a mistake.
type Try struct {
	ID   string
	Body Node
	// Only lists the codes Catch is for; empty is every code but CANCELLED, which passes outward when the run is
	// cancelled and can't be caught.
	Only    Codes
	Catch   func(v *View, f Failure) Node
	Finally func(v *View) Node
}

// Lower says what a Try is.
func (t Try) Lower() Spec {
	return Spec{Kind: KindTry, ID: t.ID, Children: Nodes{t.Body}, Try: &TrySpec{Only: slices.Clone(t.Only), Catch: t.Catch, Finally: t.Finally}}
}
