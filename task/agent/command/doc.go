// Package command is agents that are programs: claude, codex, or any other that can be told what to do on its command line or
// its standard input, and says what it does on its standard output.
//
//	agent := command.Claude(command.Config{
//		Dir:     "/srv/checkout",
//		Model:   "claude-opus-5",
//		Inherit: []string{"ANTHROPIC_API_KEY"},
//		Args:    []string{"--permission-mode=acceptEdits"},
//		Tools:   []cairn.Tool{deploy},
//	})
//	task.Task[Review]{ID: review, Agent: agent, Prompt: …}
//
// A program that is not there, a folder that is not, and tools for a program that can't be served any are mistakes of the
// tree: the run is refused before it starts (task.Checker).
//
// # Sessions, and what a kill costs
//
// The program remembers the conversation itself. What it calls its session is in the journal of the task as soon as it is
// told. An attempt that finds one, after a kill, a stop, a rate limit or an exhausted budget, goes on with it by a short
// prompt, and does not begin again. A session that the program no longer knows is begun anew, with the whole prompt: the bytes that
// the conversation has begun with, and the list of things to do as it was left.
//
// An attempt that fails because of the conversation (an answer that stays wrong, an end without an answer, a time-out) is not
// resumed. The next one begins another session, whose prompt ends with what went wrong in the last three, at most 1,000 bytes
// each.
//
// A task that forks this one begins with what was asked and answered; what lies between stays in the program's session. A
// conversation that the task itself goes on with stands in its first prompt, as text.
//
// # Answers
//
// A task of any type but string wants JSON. A program that can hold its answer to a schema gets it; for the others the prompt
// spells it out. What does not fit goes back into the same session with the reason, up to Repairs times; that uses up no
// attempt. A program without sessions is asked everything again, with its last answer.
//
// # Tools
//
// A list of things to do (Config.Todo) and, where the engine stores artifacts, artifact_read for what was put aside (Config.Offload)
// join the agent's own tools and the task's. They are served over MCP, by a server for this attempt alone on the loopback interface. Who
// calls has to send a secret, which stands in a file that only its owner can read, or in the program's environment; it is cut
// out of all that the program writes. Every call is in the journal before it begins and when it has ended, as those of package
// loop, and with the same promises: see package toolcall. A call has the name
//
//	<conversation>.tool.N
//
// with N counting the calls of a conversation in the order in which they came. A session that goes on after a kill may make a
// call again whose answer it has not seen. So the first call of a tool with the same input as one of an earlier attempt is
// taken for that one: it is answered from the journal, with a note that it was not made again, or, if its outcome is not
// known and it must not be repeated, refused as unknown. The next equal one is a new call. What finished calls of earlier
// attempts emitted, and which artifacts they wrote, is committed with the answer.
//
// # What is in its window
//
// The window is the program's own. Cairn says something when it starts a process, and when it answers a call of a served tool;
// whatever it says stays until the program takes it out, which mostly nobody is told. So of what package loop does with the windows of a
// model there is this:
//
//   - The list of things to do stands at the end of all that the program is told once it has made one: when a session goes on,
//     when another has to begin, when an answer is refused. That costs no process and no call. In between the answers of todo have all of
//     the list. It is not put behind the answers of other tools: there it would pile up, for it can't be taken out again.
//   - Results of served tools, and parts of the prompt made by task.Dep, that are longer than Offload are put aside: the program
//     gets the beginning, a reference, and artifact_read. Where the engine stores no artifacts, or the template has no MCP,
//     the prompt stands as it is.
//   - A result of a tool that only reads becomes a pointer, if that is shorter, where the session was told the same for the same input.
//     The program may have lost what it was told, and an agent inside of it may never have had it: so the pointer names an
//     artifact with all of it, and artifact_read and todo themselves always answer in full. Where nothing is put aside there
//     are no pointers. A session begun anew, and one that says that it has compacted its window (claude does), is told the
//     next result in full; so is a resumed one what an earlier attempt has answered.
//
// The journal has all results in full. It also has what the program was told at each start, in parts and byte for byte, and which
// results were pointers: see package transcript.
//
// # What a program sees and costs
//
// It runs in Dir, in a group of processes of its own that is ended, and after Grace killed, when the attempt is cancelled, its time
// or its budget is over, or when it ends by itself. It sees PATH, HOME and LANG and the variables that are named. Its lines
// and its whole output are bounded; what it writes to standard error is for the message of a failure.
//
// Usage is booked as it is told (task.Spend). Before a process starts, and whenever the program is about to ask its model
// again, the budgets are asked; where they refuse the program is ended. Prices are those of the engine's table.
//
// # What is not safe
//
// Dir is where a program begins, not what it is confined to, and it may do whatever its user may, unless it confines itself:
// see the flags of claude and codex. What it does by itself, with its own tools, is not journaled: after a kill
// it may do it again. A process that makes a session of its own leaves the group. When this process is killed the
// program dies with it on Linux and Windows; what it has started on Linux, and the program elsewhere, has to notice by itself. The folder of
// files for it stays then where temporary files are; the secret in it opens nothing any more.
//
// Usage is as exact as the program tells it. claude tells most of the output of a message, and all of the models it uses
// besides, only at the end of a turn. codex tells the sum of a turn, and at its end: a budget can stop it in the middle only because of what
// others have used, a killed turn is booked with the next one, and to meters of context and to prices by length a turn
// looks like one large call. The formats are those of 2026; what they do not know they skip.
//
// Two conversations of one task about equal prompts are one and the same, unless their agents have an ID each; if they go on
// at once the second is refused. On Windows a program may need more of the environment than it gets: name it in Inherit.
// Prompts, system texts, answers and results of tools are in the journal in plain text.
package command
