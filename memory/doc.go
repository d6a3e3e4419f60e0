// Package memory lets lessons outlive runs: facts, threads and notes in a store, and a node that puts what is relevant of
// them before the prompts of the tasks below it.
//
//	memory.Memory{
//		Banks:   []string{"user-" + in.User, "project-" + in.Repo},
//		Tags:    []string{"branch:" + in.Branch},
//		Primers: []string{"conventions"},
//		Retain:  memory.OnComplete,
//		Tools:   memory.On,
//		Children: cairn.Nodes{task.Task[Change]{ID: change, Agent: coder, Prompt: ask}},
//	}
//
// # Three lanes
//
// A run's own state belongs in task outputs, which are committed with its frames. Memory is for what the next run, or
// another agent, should know. It is kept by a store (//
// # What a task sees
//
// Before the first attempt of an agent task its primers are read, and every bank is asked for what fits the task's prompt. What
// is found stands before the prompt, in a fence, with the sentence that it is advisory. MaxTokens bounds the whole block in
// bytes. The block is journaled: later attempts, also after a kill, see the same bytes. A bank that fails or takes too long
// costs its own rows only, never the task, and always shows: in the frame, in metrics, in inspect.
//
// # Banks and tags
//
// A bank is a border: nothing of another bank is ever recalled. Tags narrow further, strictly: an untagged item does not
// pass a filter. Which filter a bank gets depends on its name:
//
//   - user-*: personal. Branch, stream and scope tags are for projects and are left out; other tags all have to match.
//   - project-*: scope:main or the configured branch, and every stream, and every other tag. Without a branch, scope:main.
//   - others: every tag has to match.
//
// # What is not safe
//
// Memory is not part of a run's state: a render can't read it, and a run must not depend on it. What one task has to
// hand to another is an output. Recall finds what is similar, which is not always what is true: it is fenced for that
// reason, and hostile text in a bank stays text only as long as the agent reads it as such.
package memory
