package command

import "github.com/cairnrun/cairn"

// How an agent that is a program can fail, besides the codes of package loop for what a model's provider does: MODEL_AUTH,
// RATE_LIMITED and so on.
const (
	// Missing: the program or the folder it is to work in is not there. Permanent.
	Missing cairn.Code = "COMMAND_MISSING"
	// Invalid: the configuration of an agent is wrong. Permanent.
	Invalid cairn.Code = "COMMAND_INVALID"
	// NoTools: the program can't be served tools. Permanent.
	NoTools cairn.Code = "COMMAND_NO_TOOLS"
	// Failed: the program has ended without an answer.
	Failed cairn.Code = "COMMAND_FAILED"
	// TooMuchOutput: the program has written more than Config.MaxOutput, and was killed.
	TooMuchOutput cairn.Code = "COMMAND_OUTPUT"
)
