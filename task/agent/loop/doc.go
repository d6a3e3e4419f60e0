// Package loop is an agent that asks a model, runs the tools it wants, and tells it the results, until there is an answer.
// It knows no provider: a Model does, such as those of the packages anthropic and openai.
//
//	agent := &loop.Agent{
//		Model:  anthropic.New(anthropic.Config{Model: "claude-opus-4-8"}),
//		System: "You review Go code.",
//		Tools:  tool.ReadOnly(tool.FilesIn(in.Dir, tool.FileLimits{})),
//	}
//	task.Task[Review]{ID: review, Agent: agent, Prompt: …}
//
// An agent is data, and as cheap: a render makes one of its input each time. What has to be opened its tools open when they
// are called, as those of package tool do.
//
// # What a kill costs
//
// Every model call and every call of a tool is in the journal of the task when it begins, with its idempotency key, and when
// it has ended, whole content blocks included. (What may not be repeated waits until that it begins is durable. For the rest
// the disk and the call go side by side.) An attempt that finds records of an earlier one goes through the same
// steps and takes from the journal what is there: no finished call is made, or paid for, again. What was in flight is made
// again under the same key. The exception is a tool with a SideEffect that is not Idempotent: whether it has happened can't
// be known, so the model is told just that, and decides.
//
// The same goes for attempts that end without fault of the conversation: a process that is stopped, a budget that has to be
// raised, a rate limit, an overload or a broken stream that lasts. An attempt that fails because of the conversation (an
// answer that stays wrong, one that is cut, too many turns, a time-out) is not resumed. The next one begins anew, and its
// first message ends with what went wrong in the last three, at most 1,000 bytes each.
//
// Usage is booked by the attempt that made the call (task.Spend). Where an attempt was killed before that could be committed
// the next one books it, before anything else, with that of sub-agents behind finished calls of tools: the engine tells which
// attempts are in frames (cairn.Call.Booked). What a call in flight has used is lost.
//
// # The window
//
// Package window plans it before each call: tools, the agent's own first; the system text and its examples; what was said before in the
// thread that the task goes on with (memory.Conversation), or the conversation that it forks (task.Task.Fork), block for block; the first message with memory, prompt, output
// schema and earlier failures; then turns and results. A turn only adds messages at the end, until the window passes
// Reduce.Trigger: then old results are cleared, and put aside as artifacts, and beyond Reduce.Compact a Compactor sums the
// conversation up. Long results of tools, and long parts of a prompt made by task.Dep, are put aside at once (Offload). What is in
// the window once is not told twice. A list of things to do (Todo), and in a window that is over half full the
// instructions (Remind), are said again at its end. Tools that are not to be used now are masked (Mask), not taken away.
// Equal states give equal bytes.
//
// What a conversation has begun with, tools and system text included, stays as it is when a changed program resumes it. Each
// call's plan is in the journal: Read finds the conversations of a task, and Held.Window makes any of their windows again.
//
// # Answers
//
// A task of any type but string wants JSON. Where the provider holds answers to a schema (Structurer) it gets it; elsewhere
// the schema is spelled out in the first message. The answer is the whole final text, or its last fenced block, or the last
// object or list in it that passes. What does not fit the type, or breaks its validate tags, goes back to the model with the
// reason, up to Repairs times; that uses up turns, not attempts.
//
// # Tools
//
// The calls of one turn run side by side. An unknown tool, arguments that are no object, an error, a panic, a time-out: all
// are told to the model as results and fail nothing. To a tool its call looks like an attempt with an idempotency key of its
// own (task.IdempotencyKey); what it emits and which artifacts it writes belongs to the attempt that gets the result, also
// when that is a later one. A task.Step inside of a tool needs a name that is different in each call.
//
// # What is not safe
//
// An idempotent tool runs again when a kill comes between its end and the record of it, so it has to honour its key. A wrapper
// around an Agent that refuses a finished answer gets the same one from every retry: what has to hold belongs into the validate
// tags, or Request.Check, where the model is told. Two conversations of one task about equal prompts are one and the same, as with equal names of
// steps, unless their agents have an ID each; if they go on at once the second is refused. Arguments are not checked against
// a tool's Schema here: that is the tool's affair.
//
// A type that embeds an Agent has its methods, too, which tell of the Agent alone: give Tools to the Agent and not to a copy of
// it in a Run of your own, or reports (Describe) and caches (Identity) know nothing of them. It needs a ReadOnly of its own.
//
// Conversations in the journal hold what was said, in plain text: prompts, results of tools, answers.
package loop
