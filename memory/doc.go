// Package memory is what outlives a run: facts, threads and notes.
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
//	a rule that Consolidate proposes            note, procedural, proposed
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
package memory
