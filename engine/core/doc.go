// Package core is the deciding part of the engine: a pure step function.
//
//	step(definition, memo, state, events, now) → (frame, commands);   state' = fold(state, frame)
//
// It takes what happened (events) and answers with one Frame to commit and the Commands to release once
// that frame is durable. It has no clock, goroutine, store or context, so that the same core runs under the SQLite
// driver, inside another engine, and in a test that tries a thousand orders of events.
//
// State is plain JSON and equals the fold of the frames. A Machine keeps beside it a memo of the last rendered plan and
// its closures; the memo is only a cache and may be dropped at any time, frames stay byte-equal.
//
// The smallest program drives a Machine by hand:
//
//	m, err := core.New(definition)
//	step := m.Step(now, []core.Event{{Kind: core.RunStarted, Name: "run-1", Payload: input}})
//	body, err := step.Frame.Encode()   // commit body, then
//	for _, c := range step.Commands {} // do these; feed what comes back to the next Step
//
// # Inside a step
//
// Events are applied, all of them, and then what follows from each is decided: a frame is folded in that order. The
// outermost scopes whose reads were touched render again, until nothing is dirty; only then loops ask Until, tries
// move on and the run may finish; if that touched a read, it renders again, to a fixpoint. Then ready tasks start, as
// far as the run's limit allows. What may start follows from the state and the tree alone, never from the order in
// which they came about; wire.go has the rules.
//
// # What is not safe
//
// A Machine is not safe for concurrent use: one goroutine owns it. Step changes the Machine's state in place, by the
// same records that it puts into the frame: an owner whose commit fails drops the Machine and folds again.
package core
