// Package consolidate turns many episodes into few rules: an ordinary workflow, run by hand or on a schedule, that
// proposes rules for a person to accept.
//
//	cli.Main(consolidate.Workflow(distiller))
//
// Episodes are what runs have left in a bank: digests, what agents remembered, and other episodic notes. An agent distils
// them. Each rule becomes a procedural note that is proposed: nobody recalls it. Once it is accepted, by SetStatus or `memory notes
// accept`, it is recalled in place of the episodes it was made of; rejected again, these come back.
//
// # What holds
//
//   - A rule names the episodes it was made of, and only such as the agent was given. One that names none is dropped.
//   - Who is shown a rule could have been shown all that it was made of: memory.DerivedTags says which tags it has. One
//     made of two branches is dropped.
//   - A rule that waits for a person takes its episodes out of later consolidations. One that was rejected leaves them in, and
//     the agent is told what was rejected.
//   - The tasks may run again, at any point, and still propose each rule once: its id is made of its content.
//   - What is forgotten takes the rules with it that were made of it.
//
// # What is not safe
//
// The episodes are text that agents have written, about things that others may have said to them. They stand in the
// distiller's prompt as JSON, as data; what a model makes of hostile ones is for the person to see before anything is accepted.
//
// The run that consolidates keeps what it was shown, in its own outputs: to forget an episode for good, delete that run too.
package consolidate
