// Package handoff lets a run end and a fresh one go on from a small state: continue-as-new.
//
// A run that works for long collects history: frames that a resume has to fold, outputs that prompts are made of, agents
// whose context has grown stale. A handoff cuts that off. The run closes as continued, and in the same transaction its
// successor exists, of the same workflow and with the same input, a run with an empty history that knows the state it was
// handed and nothing else. A kill leaves either the old run alive or exactly one successor.
//
//	type Progress struct{ Page int }
//
//	Render: func(v *cairn.View, in Input) cairn.Node {
//		at := handoff.Carried(v, Progress{Page: 1})
//		return cairn.Nodes{
//			task.Task[Page]{ID: page, From: task.From(…)}, // reads page at.Page
//			cairn.Branch{If: last(v), Then: report(at), Else: handoff.ContinueAsNew{State: Progress{Page: at.Page + 1}}},
//		}
//	}
//
// # What happens
//
// When it is a ContinueAsNew's turn, its state is stored and nothing new starts in the run. What runs beside it is let end,
// because it is paid for, but what comes of it is not handed over unless Keep names it. No Catch is asked, but every
// Finally around the node runs, inside out; one that fails takes the handoff's place with its failure. Once all is quiet
// the successor is made: its input is checked and its first tree rendered. Only if that works are both written. The id
// of the successor is the first run's with the generation behind it: nightly, nightly.2, nightly.3.
//
// Budgets start at zero in the successor, View.Patched decides afresh, task paths begin anew, idempotency keys and
// View.Rand are those of another run. What was sent to the run and not taken yet goes to the successor, and so does all
// that is sent to the old id later. Wait, Cancel and Pause follow the chain.
//
// # What can go wrong
//
// A State that has no JSON form (STATE_INVALID) or is too large (STATE_TOO_LARGE), and a Keep that can't be (KEEP_IN_LOOP), are
// failures of the ContinueAsNew: a Try around it may catch them. A state that the successor reads as another type
// (STATE_TYPE), a bad Input (INVALID_INPUT), a chain that is too long (TOO_MANY_GENERATIONS) and an id that is taken
// (RUN_EXISTS) fail the run at its end, with nothing of a successor written. A successor whose tree can't be rendered blocks
// the run: mend the code and resume.
//
// # What is not safe
//
// A state should be a struct of its own: it is JSON, compared by its schema, and a type that changed between two versions of
// the code is STATE_TYPE. Pictures, logs and documents belong into artifacts, which stay where they are: hand over their
// references. A handoff that is reached without any work done in between makes runs as fast as the disk writes, until
// MaxGenerations of the engine stops it. A ContinueAsNew in a Finally is a mistake of the tree.
package handoff
