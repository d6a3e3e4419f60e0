// Package delegate is a tool by which an agent gives work to a sub-agent. That one works in a clean window, and all that comes
// back of its work is an answer of at most 2,000 tokens with references: what it has read and tried costs the parent's
// window nothing.
//
//	search := delegate.New(delegate.Config{
//		Agent: &loop.Agent{Model: small, System: "You search code.", Tools: tool.ReadOnly(files)},
//		Share: 100_000,
//	})
//	lead := &loop.Agent{Model: large, Tools: []cairn.Tool{search, tool.ReadArtifact()}}
//
// A model that calls the tool several times in one turn has several sub-agents at work at once. task.Delegate is the same as a
// node of the tree, where the program decides what is delegated and not the model.
//
// # The window
//
// The sub-agent sees its own system text and tools, and as its first message the task as the parent has put it, with a
// notice that it is alone. It sees nothing of the parent's conversation or memory, nor of other sub-agents. Unless it is a
// Writer it has no tool with a side effect; what its reading tools can reach is their affair.
//
// # What a kill costs
//
// The sub-agent works in the parent's attempt and journal. A resumed attempt goes on with the sub-agent's conversation where
// it was, if it is a loop.Agent: finished calls are not made again. Any other agent has to remember by itself what it has
// done; without that it begins the task anew.
//
// # The share
//
// With a Share the sub-agent's model calls are admitted as long as it has used fewer tokens, in this call of the tool and over
// all attempts; budgets around the task hold besides. A call that has begun ends, so the worst overshoot is one call. The
// parent is told what was spent, as an error of the tool, and goes on; that a budget around is used up ends its attempt.
// Usage is the task's: it counts in its budgets, under the name of the tool (Usage.Delegate).
//
// # What is not safe
//
// That two writers never work in one directory at once is checked for the tasks of a run before it starts
// (WRITER_CONFLICT); calls in one process take turns. Writers of different runs in different processes, and tools with side
// effects of the parent itself, are not known to one another. A rate limit that lasts is told to the parent as an error, as
// any failure of the sub-agent is.
package delegate
