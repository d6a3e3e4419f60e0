// Package task is the node that does work: a typed output, and a body that produces it.
//
// A workflow's tree says what is to be done in which order; a Task is its leaf. The body is plain Go, so it can
// be called and tested alone; the engine adds what a long run needs around it: retries with pauses, timeouts, one durable
// result per task. The result is JSON that passed the `validate` tags of its type, and every reader gets a
// copy of its own.
//
// The smallest program:
//
//	const greeting cairn.Key[string] = "greeting"
//
//	task.Task[string]{ID: greeting, Do: func(ctx context.Context) (string, error) {
//		return "Hello", nil
//	}}
//
// A body is one of four. Do is a function. From is a function of an input that is computed when the task's turn has
// come, and then kept. Agent and Prompt ask a model. Value is there already.
//
// Inside of a body, Step remembers finished parts across attempts, Heartbeat tells that a long one lives and
// hands its position to the next attempt, WriteArtifact stores bulk, and Emit asks for an outside effect that happens if,
// and only if, the result is committed. All find the attempt in the context; the comment of each says what it does
// without one, as in a test that calls the body alone.
//
// # What is not safe
//
// A body runs at least once: a process can die between the work and the commit, and then the work is done again, in
// another attempt. Hand IdempotencyKey, the same for all attempts, to outside systems that can tell a repetition by it; use
// Emit where the outside effect may wait for the commit. A Step makes the gap smaller and does not close it: its
// function too runs again when the process dies before the record is durable.
//
// Prompt, the input function of From and SkipIf are part of the render: they read their View and what they closed over,
// nothing else. A body that closes over a value of the render, rather than taking it through From, works with
// the value of the render it was started from; after a crash that is a later one. What a body depends on belongs
// into From or the Prompt, which are computed once and stored.
//
// What is passed through JSON comes out as JSON can carry it: unexported fields, monotonic clock readings and invalid
// UTF-8 do not survive; a nil slice is null and an empty one is [].
package task
