// Package scripted has agents and models that answer from a script, for tests and for examples that run without a provider.
// An Agent stands in for a whole task.Agent, a Model for what a loop.Agent asks.
//
//	agent := &scripted.Agent{
//		Rules: []scripted.Rule{
//			{Contains: "flaky", Replies: []scripted.Reply{{Err: errors.New("overloaded")}}},
//			{Path: "review[*]/verdict", By: scripted.ByIteration, Replies: []scripted.Reply{{Value: Reject}, {Value: Approve}}},
//		},
//		Auto: true,
//	}
//	task.Task[Verdict]{ID: verdict, Agent: agent, Prompt: …}
//
// # Which reply comes
//
// The Replies of an Agent first, one for each call. Then that of the first Rule that matches and has one left: the first
// attempt of every task under "flaky" fails here, and later ones fall through. Then what Answer says. Then, with Auto, a value
// that is made from the schema of the task's output. A request for which there is nothing is a permanent error that shows it.
//
// A Model gives turns in the same order. How many a rule has given it reads from the window: it goes through the conversation
// from its first message.
//
// # What a kill changes
//
// Nothing, for rules in their default order, those ByIteration, and models. ByAttempt counts the attempts of the task that a
// reply has failed, which are in the task's journal: an attempt lost with its process, or stopped with it, is none, and the next
// one gets the same reply. Tasks side by side do not see one another, so it doesn't matter which is first.
//
// # Tokens
//
// With a name for the model (Agent.Model, Model.Name) a reply without Usage counts its own, as window.Tokens does: a token for four
// bytes of what is asked and of what is answered. It is an estimate that no tokenizer would give, but the same each time:
// budgets can be tested with it. A Model can also act as a provider's prompt cache, see Model.Cache.
//
// # Time
//
// A Delay passes on the clock of package time, as all waits of the engine do. In a testing/synctest bubble, such as that of
// engine/enginetest, that is virtual time, for both of them; so a Delay of an hour breaks an AttemptTimeout of a minute, at once.
//
// # Identity
//
// An Agent whose script is only data says what it is, so that its outputs can be cached (package cache) without a Version of
// the task: the hash of all that answers depend on. One with functions (Answer, When) says nothing, and needs the Version. The
// same goes for a Model, which has a Variant to name what its functions do.
//
// # What is not safe
//
// Agent.Replies and rules ByCall are handed out in the order of the calls in this process, and calls are made again: tasks side by
// side come in any order, and a process that resumes a run starts the script over. The same goes for Turn.Fails.
//
// In a Model's window what an earlier thread has said counts as turns, and what was compacted away does not; there use rules
// that look at what is said.
//
// A script that is changed while a task has a failed attempt behind it starts over for that task. Functions of a script must
// decide by their argument alone.
package scripted
