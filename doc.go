// Package cairn is the vocabulary of a durable workflow engine for long agent runs.
//
// A workflow is a pure function from committed state to a tree of struct nodes. The engine (package
// engine) renders the tree, runs what is ready, commits what came back as one frame, atomically, and
// renders again from what is committed. A run can be killed at any instant and goes on where it was.
//
// The smallest program, with package task for the node that does work:
//
//	const greeting cairn.Key[string] = "greeting"
//
//	var Hello = cairn.Workflow[string, string]{
//		Name:   "hello",
//		Result: greeting,
//		Render: func(v *cairn.View, name string) cairn.Node {
//			return task.Task[string]{ID: greeting, Do: func(ctx context.Context) (string, error) {
//				return "Hello, " + name, nil
//			}}
//		},
//	}
//
// This package imports the standard library only and has no goroutine, no I/O and no clock. Features
// (task, memory, aspects, …) import it and never one another; the engine meets them as the plain data
// of a Spec. Code outside the module may add nodes of its own by lowering them to a Spec.
//
// # What is not safe
//
// Render, Until, Body, Catch, Finally, Prompt and Input must be pure: they may read their View and what they
// closed over, and nothing else. Map iteration that decides the order of nodes, clocks, global variables and
// random numbers make a run diverge from its own history; View has Now and Rand for the honest needs.
// A task body may do anything, and may run more than once (at least once): outside effects need the
// idempotency key.
package cairn
