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
// another agent, should know. It is kept by a store (package memory/sqlite) in three lanes that differ in what may change:
//
//	lane     what it is                          what may change                          found by recall
//	fact     a JSON value under a key            everything; every version is kept        in a bank, newest version, while it lives
//	thread   messages in a strict order          appended to; trimmed, summarized         messages of a thread in a bank
//	note     a text that is never edited         its status, its validity, its pin        in a bank, accepted, not superseded, valid
//
// And this is where each kind of write lands:
//
//	write                                       lane
//	SetFact, SwapFact, PatchFact, memory set    fact
//	Append, an agent's Thread                   thread
//	SaveNote, remember, notes add               note, semantic unless it says otherwise
//	a digest of a finished task (Retain)        note, episodic, accepted
//	a rule that memory/consolidate proposes     note, procedural, proposed
//	a primer                                    note, pinned
//
// # Names
//
// A Namespace says whose an item is, and a bank, which is optional, who recalls it. Both are compared byte by byte: no
// pattern, prefix or folding ever applies. Items of different namespaces share nothing, names included. A namespace's
// kind is a label: nothing is deleted because a workflow ends or an agent goes away.
//
// # Times
//
// Every time has whole milliseconds and is in UTC. System time is when something was written, validity (Span) is when it
// holds in the world; both can be asked for (Moment). A span begins at its From and ends before its To.
//
// # Supersession
//
// A note names the notes that it replaces. They leave default reads while the note that replaces them is accepted and has
// begun to be valid, and come back when it is rejected or forgotten. A superseded note stays superseded when its
// superseder is superseded in turn, or retired. A reader who asks for tags is shown what only a note without these tags
// would hide: what a branch has learned takes nothing from the others.
//
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
