// Package cache lets a task take its output from an equal task that ran before, instead of running again.
//
// Model calls are slow and cost money, and much of what a workflow asks has been asked before: by another iteration, by
// yesterday's run, by another workflow. A Policy on a task says how far its output may be shared:
//
//	task.Task[Summary]{
//		ID: summary, Agent: model, Prompt: …,
//		With: cairn.With{cache.Policy{Scope: cache.Workflow, TTL: 24 * time.Hour}},
//	}
//
// A hit is a result like any other: it is committed in a frame, is marked there as cached, and a resume or a replay never
// asks the cache again. Only results that were committed are stored, in the transaction of their frame.
//
// # What is in the key
//
//	part                  why
//	task                  its path without iterations: two tasks with equal inputs ask for different things, two
//	                      iterations of one task do not. Policy.Key stands in its place where tasks mean the same.
//	input                 the rendered prompt or the input of From, as canonical JSON: what is asked.
//	identity              the agent's model and configuration, where its tools work (cairn.Tool.Bound), and the task's
//	                      Version: who answers, how, and from what.
//	output schema         an answer in yesterday's shape is none today.
//	Policy.Version        the one part that is changed by hand, to be rid of what is stored.
//	scope, and with Run the run's id, with Workflow the workflow's name: how far a result is shared.
//
// # What is not in the key
//
//	part                  why not
//	attempt, iteration    a retry, or the next round, asks the same question.
//	retries, timeouts, priority, TTL
//	                      how a task is run does not change what its answer means. Today's TTL is applied when a result is
//	                      looked up, besides the one that it was stored under: the shorter one holds.
//	the workflow's version
//	                      it changes with every release, and most tasks do not change with it. What matters of it shows in
//	                      the other parts.
//	the function's code   it can't be told apart by the program that contains it: raise task.Task.Version with its meaning.
//	what a body closes over, environment, files, time
//	                      nobody can know them. What a body depends on belongs into From or the Prompt; the rest needs a
//	                      TTL or no cache.
//	random ids            of processes, agents' objects and connections: they would make every key new.
//	memory                recalled rows change from day to day: a task under an active bank neither reads the cache nor
//	                      writes to it.
//
// # What is not cached
//
// Tasks marked SideEffect, for which a Policy is a mistake; results that emitted effects, although nobody had marked the
// task; failures.
//
// # What is not safe
//
// Equal tasks run once at a time, in one process and among several, but not at most once: a process that is stopped for
// longer than its hold lasts finds that another one has run the task meanwhile. Task.Do without a Version and without an
// input is the same question for ever: give such a policy a TTL.
package cache
