// Package toolcall makes the calls of tools that an agent wants, and journals them: that a call begins, with its idempotency
// key, and what came of it. Agents that differ in everything else share it.
//
//	caller := &toolcall.Caller{Tools: tools, Timeout: time.Minute}
//	out, err := caller.Do(ctx, "talk.1.turn.3.tool.1", use)
//
// # What a kill costs
//
// A call has a name that is the same in every attempt of its task. Under the name the journal has the Outcome, under the name
// and ".intent" the Intent. A call whose outcome is there is not made again: the attempt gets the outcome. One that has an
// intent only was in flight, and is made again under the same key. The exception is a tool with a SideEffect that is not
// Idempotent: whether it has happened can't be known, so the outcome says that it is Unknown, and the call is not made. For
// such a tool the intent is durable before the call begins; for the others the disk and the call go side by side.
//
// An unknown tool, arguments that are no object, an error, a panic, a time-out: all are outcomes, for the model to read. An
// error of Do ends the attempt: it was told to stop, a budget is reached by an agent behind the tool, the journal is lost.
//
// To a tool its call looks like an attempt with an idempotency key of its own (task.IdempotencyKey). What it emits and which
// artifacts it writes belongs to the attempt that gets the outcome, also when that is a later one.
//
// Read lists the calls in a journal.
//
// # What is not safe
//
// An idempotent tool runs again when a kill comes between its end and the record of it, so it has to honour its key. A
// tool that does not look at its context is waited for. Inputs of up to MostInput bytes are in the journal as they are.
package toolcall
