package task

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
)

// Delegate is a Task whose agent works apart, as Isolate says: in a clean window, with a share of tokens of its own, with
// tools that only read unless it is a Writer, and with an answer of at most MaxAnswer tokens. Several of them in a Parallel
// are a fan-out; inspect shows what that has cost over the tasks around it.
//
// An output that is a string is cut where it is longer, the whole being kept as an artifact; any other type has to fit.
// Conversations are never forked into a Delegate.
type Delegate[T any] struct {
	// ID, Agent and Prompt are as in a Task. All three are required.
	ID     cairn.Key[T]
	Agent  Agent
	Prompt func(v *cairn.View) string
	// Share is the most tokens that all attempts may use. It is a budget of its own, at the address of the scope and
	// "ID.share", and fails with BUDGET_EXCEEDED for a Try around to catch; budgets around hold too. 0 is no share: only
	// those around.
	Share int64
	// Writer lets the agent use tools with side effects. Dir is its working directory; "" is the process's. Two writers that
	// could run at once on one directory, or on one inside of the other, are a mistake of the tree: WRITER_CONFLICT. Dir
	// keeps nobody inside of it, that is for the agent's tools; the agent finds it in its Call's Policy.Delegate.
	Writer bool
	Dir    string

	// The rest is as in a Task.

	After          cairn.Keys
	SkipIf         func(v *cairn.View) bool
	Retry          Retry
	Timeout        time.Duration
	AttemptTimeout time.Duration
	Heartbeat      time.Duration
	Optional       bool
	Priority       int
	Version        string
	With           cairn.With
}

// Lower describes the delegate: a task, in a budget of its own if it has a Share.
func (d Delegate[T]) Lower() cairn.Spec {
	how := cairn.DelegateSpec{Writer: d.Writer, Dir: cleanDir(d.Dir, d.Writer)}
	agent, err := Isolate(d.Agent, how)
	t := Task[T]{ID: d.ID, Agent: agent, Prompt: d.Prompt, After: d.After, SkipIf: d.SkipIf, Retry: d.Retry, Timeout: d.Timeout,
		AttemptTimeout: d.AttemptTimeout, Heartbeat: d.Heartbeat, Optional: d.Optional, Priority: d.Priority, SideEffect: d.Writer, With: nil}
	if err != nil {
		t.Agent = d.Agent // the rest of what is wrong is told too
	}
	spec := t.Lower()
	spec.Task.Identity, spec.Task.Anonymous = identity(d.Agent, d.Version)
	if !spec.Task.Anonymous {
		spec.Task.Identity = "delegate/1 " + spec.Task.Identity
	}
	spec.Task.Policy.Delegate = &how
	wrong := mistakes(spec.Mistakes)
	spec.Task.Policy.Config = lowerWith(d.With, spec.Task, &wrong)
	if len(d.With) > 0 {
		spec.Task.Check = checkStored[T]
	}
	switch {
	case d.Agent == nil: // the task has said so
	case err != nil:
		wrong.add("%w", err)
	}
	if d.Share < 0 {
		wrong.add("Share is negative: %d; 0 is none", d.Share)
	}
	spec.Mistakes = wrong
	if d.Share <= 0 {
		return spec
	}
	return cairn.Spec{Kind: cairn.KindAspects, ID: string(d.ID) + ".share", Aspects: &cairn.AspectsSpec{Tokens: cairn.Budget{Max: d.Share}},
		Children: cairn.Nodes{lowered(spec)}}
}

// lowered is a node that is described already.
type lowered cairn.Spec

func (l lowered) Lower() cairn.Spec { return cairn.Spec(l) }

// cleanDir is a directory in the one spelling by which it is compared. A writer has one in any case.
func cleanDir(dir string, writer bool) string {
	if strings.TrimSpace(dir) == "" && !writer {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(dir))
}
