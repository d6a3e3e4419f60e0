package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
)

// Exit codes.
const (
	ExitFinished    = 0
	ExitFailed      = 1
	ExitRefused     = 2
	ExitParked      = 3
	ExitBlocked     = 4
	ExitInterrupted = 130
)

// Codes of the command line's own errors.
const (
	// BadUsage: the command line can't be understood.
	BadUsage cairn.Code = "BAD_USAGE"
	// NoDatabase: a command needs stored runs and there is no file.
	NoDatabase cairn.Code = "NO_DATABASE"
	// Interrupted: the command was stopped by a signal.
	Interrupted cairn.Code = "INTERRUPTED"
	// NotRunning: nobody drives the run, so there is nobody to ask.
	NotRunning cairn.Code = "NOT_RUNNING"
	// StillRunning: the time to wait is over, and the run has not ended.
	StillRunning cairn.Code = "STILL_RUNNING"
	// NoSuchFile: a file named on the command line can't be read.
	NoSuchFile cairn.Code = "NO_SUCH_FILE"
	// NoSuchEntry: the cache has no entry, or several, of a key.
	NoSuchEntry cairn.Code = "NO_SUCH_ENTRY"
	// NoSuchNode: a run has nothing at a path.
	NoSuchNode cairn.Code = "NO_SUCH_NODE"
	// NoSuchCall: a task has not asked a model, or not so often.
	NoSuchCall cairn.Code = "NO_SUCH_CALL"
	// BadJournal: what a task has recorded can't be read.
	BadJournal cairn.Code = "BAD_JOURNAL"
	// Diverged: today's code does not replay the recorded run.
	Diverged cairn.Code = "DIVERGED"
)

// refusals are what a command is refused for, with nothing written. All other errors are failures.
var refusals = []error{
	BadUsage, NoDatabase, NotRunning, NoSuchFile, NoSuchEntry, NoSuchNode, NoSuchCall,
	engine.BadWorkflow, engine.UnknownWorkflow, engine.InvalidInput, engine.BadRunID, engine.BadExport,
	engine.RunNotFound, engine.RunExists, engine.RunEnded, engine.LeaseHeld, engine.NotReady,
	cairn.InvalidTree, cairn.KeyType, cairn.KeyMissing, cairn.RenderPanicked, cairn.PromptFailed, cairn.NoFixpoint,
	memory.NotFound, memory.VersionConflict, memory.Exists, memory.InvalidName, memory.InvalidItem, memory.TooLarge, memory.Unscoped,
	memory.KeyMissing, memory.KeyWrong, memory.BadImport, memory.BadTag, memory.BadBank,
	dbfile.ErrCannotOpen, dbfile.ErrNotOurs, dbfile.ErrNewerSchema,
}

// status is an exit code that needs no further words.
type status int

func (s status) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// exitOf is the exit code of an error.
func exitOf(err error) int {
	var code status
	switch {
	case err == nil:
		return ExitFinished
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, Interrupted), errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return ExitRefused
		}
	}
	return ExitFailed
}

// exitOfRun is the exit code of where a run stands.
func exitOfRun(s core.Status) int {
	switch s {
	case core.Finished, core.Continued:
		return ExitFinished
	case core.Paused:
		return ExitParked
	case core.Blocked:
		return ExitBlocked
	case core.Running:
		return ExitInterrupted
	}
	return ExitFailed
}

// report says what went wrong, in one line, and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	var quiet status
	if err == nil || errors.As(err, &quiet) {
		return exitOf(err)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &cairn.Error{Code: Interrupted, Message: "the command was stopped"}
	}
	if a.json {
		raw, _ := json.Marshal(a.errorLine(err))
		fmt.Fprintf(a.err, "%s\n", raw)
	} else {
		fmt.Fprintf(a.err, "cairn: %s\n", oneLine(err.Error()))
	}
	return exitOf(err)
}

// errorLine is an error as --json shows it.
type errorLine struct {
	Type    string     `json:"type"`
	Code    cairn.Code `json:"code,omitempty"`
	Run     string     `json:"run,omitempty"`
	Path    string     `json:"path,omitempty"`
	Message string     `json:"message"`
	Next    string     `json:"next,omitempty"`
}

func (a *app) errorLine(err error) errorLine {
	line := errorLine{Type: "error", Code: cairn.CodeOf(err, ""), Message: oneLine(err.Error())}
	var e *cairn.Error
	if errors.As(err, &e) {
		line.Run, line.Path, line.Next = e.Run, e.Path, e.Next
		line.Message = oneLine(strings.TrimPrefix((&cairn.Error{Message: e.Message, Err: e.Err}).Error(), ": "))
	}
	return line
}

// unreadable is the error of a file that was named on the command line.
func unreadable(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &cairn.Error{Code: NoSuchFile, Message: fmt.Sprintf("the file %q can't be read", name), Err: err, Next: "name another one"}
}

// oneLine joins the lines of a text, leaving out empty ones.
func oneLine(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}
