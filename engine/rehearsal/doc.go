// Package rehearsal plays a workflow forward without running it, to see the tasks that it mounts behind others.
//
//	seen, err := rehearsal.Play(ctx, def, rehearsal.Config{Run: "play", Now: time.Now(), Input: input, Output: made})
//	for _, one := range seen.Tasks {
//		fmt.Println(one.Path, one.Input)
//	}
//
// The core decides as in a run. Each task that it starts ends at once with an output that Config.Output makes up; a task with a fixed
// Value has that. No body, agent or tool is called, nothing is stored, no time passes. What is called is the workflow's pure code: renders,
// prompts, and what a handoff carries over.
//
// # What is seen that one run would not show
//
// The tree is staged so that little depends on what was made up: both sides of a Branch are mounted, one after the other, a Loop goes
// through two iterations whatever its Until says, a Try mounts its Catch before its Finally, with a failure that is made up too, no SkipIf is asked, and at
// a ContinueAsNew the run goes on, and its successor is played after it. Where the sides together make a mistake of the tree,
// the workflow is played as it is.
//
// # What is not
//
// Plain ifs and lists in a render follow the outputs: play again with others. Code that does not take what was made up and panics
// is told in Rehearsal.Missed, or as the task's Failure, and the rest goes on. A play ends after MaxSteps steps or when its
// context does; that is told, too. Only code that never returns can't be stopped.
package rehearsal
