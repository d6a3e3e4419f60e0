package engine

import "github.com/cairnrun/cairn"

// Codes of the engine's own refusals.
const (
	// BadConfig: the Config breaks a rule.
	BadConfig cairn.Code = "BAD_CONFIG"
	// BadWorkflow: a workflow can't be registered.
	BadWorkflow cairn.Code = "BAD_WORKFLOW"
	// UnknownWorkflow: no workflow of that name is registered here.
	UnknownWorkflow cairn.Code = "UNKNOWN_WORKFLOW"
	// InvalidInput: the input is not what the workflow takes.
	InvalidInput cairn.Code = "INVALID_INPUT"
	// BadRunID: the string can't be a run's id.
	BadRunID cairn.Code = "BAD_RUN_ID"
	// NotReady: this process lacks what a run needs, such as a key or a program.
	NotReady cairn.Code = "NOT_READY"
	// Closing: the engine is closed or about to be.
	Closing cairn.Code = "ENGINE_CLOSED"
	// CorruptHistory: the frames of a run do not follow one another, or can't be read.
	CorruptHistory cairn.Code = "CORRUPT_HISTORY"
	// BadExport: a file is not a whole export of a run.
	BadExport cairn.Code = "BAD_EXPORT"
)

func errClosed() error {
	return &cairn.Error{Code: Closing, Message: "this engine is closed", Next: "open another one and resume the run"}
}
