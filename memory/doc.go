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
//	a file of the tool memory                   note, pinned, accepted, in versions
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
// bytes. The block is journaled: later attempts, also after a kill, see the same bytes. A note that stands in it as a primer is
// not recalled besides, nor by the tool; one that several banks have in the same words is shown of the first. A bank that
// fails or takes too long costs its own rows only, never the task, and always shows: in the frame, in metrics, in inspect.
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
// What is written says where it is from: source:run for what tasks leave, source:chat for what a person writes by the command
// line, source:reflection for what is distilled, and source:import for what an import that was asked to mark has brought
// from elsewhere; by default an import restores what was exported, byte for byte. These count towards the 16 tags of an item.
//
// # Files
//
// With Tools: Files an agent has the tool memory besides recall and remember: it views, creates, edits, deletes and renames the
// primers of its banks as if they were files, by Anthropic's commands view, create, str_replace, insert, delete and rename,
// and where the provider has that tool it is given as its own. It is a switch of its own because primers stand before the
// tasks that name them, whole: who may edit them steers later runs more than who may only remember.
//
//   - A path is the id of a pinned note: /memories/conventions, /memories/build/go.md. With several banks that may be written
//     (WriteBanks) the first part names one: /memories/project-x/conventions. There is no file system behind it. What could
//     lead elsewhere, or stand for something else (.. and other parts with a leading dot, \, %, what does not print) is refused.
//   - A file keeps its id over its versions: a primer is always given in the latest that its reader may see. The notes
//     are called conventions, conventions@2, conventions@3 (PrimerOf). Edits supersede, deletions leave a note that
//     supersedes and never holds, a renamed file is derived from what it was. Nothing is destroyed: the versions are listed
//     by notes list --status accepted, a person's reject takes one back, forgetting one forgets what was made of it.
//   - The tool shows what a recall of the bank could show, by tags, and writes with the tags that remember would. So what a branch
//     makes of a file of main is the branch's, until main says it, and the branch's own comes before what is of main.
//   - Files lie in the namespace of the workflow that created them, also when another one edits them. They are not told to a
//     remote backend, like other primers.
//   - A change takes effect at once, at least once, and once for a call that is made again under its key. An agent that gives
//     its calls no keys of their own makes its n-th call with equal input once in all attempts of the task.
//   - Changes compare before they swap: an edit of a version that the agent has not seen, since it viewed or wrote another in
//     this attempt, is refused, and it has to view the file again. So is one that others are faster than.
//   - A file has at most MaxFile bytes and some text; a bank MaxFiles of them; one view shows MaxView bytes. Listings have two
//     levels, with size, time of the version, and the run and task that wrote it. A pinned note whose id is no path is not
//     shown, but counted.
//
// # What is not safe
//
// Memory is not part of a run's state: a render can't read it, and a run must not depend on it. What one task has to
// hand to another is an output. Recall finds what is similar, which is not always what is true: it is fenced for that
// reason, and hostile text in a bank stays text only as long as the agent reads it as such.
package memory
