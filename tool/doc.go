// Package tool makes tools for agents: of Go functions, and the ones that most agents need.
//
// A tool is data (cairn.Tool): a name, a description, a schema and a function on JSON. What a model sends is never to be
// trusted, so New puts a check in front of the function, and an error whose text a model can act on:
//
//	type question struct {
//		City string `json:"city" validate:"required" jsonschema_description:"The town's English name."`
//	}
//
//	weather := tool.New("weather", "Tells the weather of today.",
//		func(ctx context.Context, q question) (Report, error) { … }, tool.Timeout(5*time.Second))
//
//	agent := &loop.Agent{
//		Model: model,
//		Tools: append(tool.FilesIn("work", tool.FileLimits{}), weather, tool.ShellIn("work", tool.ShellPolicy{}), tool.ReadArtifact()),
//	}
//
// Making tools opens nothing and asks nobody, so an agent can be made in a render, of the run's input. Set puts tools together
// where names might clash, and ReadOnly leaves out those that change anything. Files and Shell are the same tools for an os.Root
// that the program holds open itself.
//
// Names have the prefix of what they work on, so that they stand together in a list: fs_, shell_, artifact_. Answers that are
// for reading are JSON strings and meant to be shown as text, without the quotes: the first line says what this is and how
// much there is, and where to go on.
//
// # What keeps a window small
//
// Offload wraps a set of tools so that long answers are put aside as artifacts, and a Reference is left. A Todo keeps the
// agent's plan, whose Text is for the end of the window; what it knows can be brought back from its answers in a journal. An
// agent of package loop or command does both by itself, and tells what it has told already by a pointer.
//
// # Confinement
//
// The fs_ tools reach the file system through os.Root and nothing else, whether it is held open or opened by each call. No path,
// and no symbolic link, also none that is put in place during a call, leads out of the root. shell_run begins inside of the
// root, in a group of processes that is killed as a whole, with an environment of named variables, and without a network unless
// it is allowed; where the system can't take the network away it does not run. Errors name paths as the model gave them, not
// where the root is.
//
// # What is not safe
//
// A shell command can read and write what this process's user can; the root holds it as little as a chdir does. It can reach
// sockets in the file system. What makes a session of its own is not killed with the group. Mounts, hard links and
// devices that someone else has put into the root are in the root. A root of "/" has /proc in it. Two sets of file tools on one
// folder can overwrite one another's changes, unless they are FilesIn of one name; so can a shell command beside an edit.
//
// A directory by name is looked up by each call: who can change the directories above it, by a shell command too, can lead the next
// call elsewhere. And an agent's identity tells its tools by name, schema and where they work (cairn.Tool.Bound), not what lies
// there: a cache.Policy for a task whose answer depends on files needs a Version that does.
//
// Tools of other programs, and for them, are in package tool/mcp.
package tool
