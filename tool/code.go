package tool

import "github.com/cairnrun/cairn"

// The codes of this package's errors, each a *cairn.Error. Their texts are written for the model that called.
const (
	// Invalid: a tool or a set of tools is wrong: a name, a schema, a name twice.
	Invalid cairn.Code = "TOOL_INVALID"
	// BadInput: what the model sent does not fit the tool's schema or validate tags. The text lists all that is wrong.
	BadInput cairn.Code = "TOOL_INPUT"
	// BadOutput: what the function returned has no JSON form.
	BadOutput cairn.Code = "TOOL_OUTPUT"
	// Panicked: the function panicked. A *cairn.Failure in the chain has the stack, the text has not.
	Panicked cairn.Code = "TOOL_PANICKED"
	// TimedOut: a call took longer than its Timeout.
	TimedOut cairn.Code = "TOOL_TIMEOUT"

	// NoRoot: the directory that the tools work in is not there, or can't be opened.
	NoRoot cairn.Code = "FS_NO_ROOT"
	// Outside: a path leads out of the root, or would.
	Outside cairn.Code = "FS_OUTSIDE"
	// BadName: a path that no file should have: empty parts, control characters, too long.
	BadName cairn.Code = "FS_NAME"
	// NotFound: there is no such file.
	NotFound cairn.Code = "FS_NOT_FOUND"
	// NotAFile: a folder, device, pipe or symbolic link stands where a file is needed, or a file where a folder is.
	NotAFile cairn.Code = "FS_NOT_A_FILE"
	// Binary: the file is not text.
	Binary cairn.Code = "FS_BINARY"
	// TooLarge: the file, or what is to be written, is over a limit.
	TooLarge cairn.Code = "FS_TOO_LARGE"
	// NoMatch: the text to replace is not in the file.
	NoMatch cairn.Code = "FS_NO_MATCH"
	// Ambiguous: the text to replace is in the file more than once.
	Ambiguous cairn.Code = "FS_AMBIGUOUS"
	// Failed: the file system refused for another reason.
	Failed cairn.Code = "FS_FAILED"

	// NoIsolation: the network was to be off and this system can't take it away.
	NoIsolation cairn.Code = "SHELL_NO_ISOLATION"
	// NoShell: the command could not be started.
	NoShell cairn.Code = "SHELL_START"

	// NoArtifacts: the call runs under no engine that stores artifacts.
	NoArtifacts cairn.Code = "ARTIFACT_NO_STORE"
	// BadArtifact: the text is no artifact's hash.
	BadArtifact cairn.Code = "ARTIFACT_BAD_HASH"
	// BadRange: an excerpt was asked for that begins behind the end.
	BadRange cairn.Code = "TOOL_RANGE"
	// BadPattern: a pattern can't be read.
	BadPattern cairn.Code = "TOOL_PATTERN"
	// BadTodo: a change to the list that can't be made.
	BadTodo cairn.Code = "TODO_INVALID"
)
