package crashtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Kinds of lines in a side-effect log.
const (
	// Opened: a process has opened the store.
	Opened = "opened"
	// Began and Resumed: Start or Resume has returned without an error.
	Began   = "began"
	Resumed = "resumed"
	// Acked: frame N with its hash is durable, and nothing it decides has been carried out yet.
	Acked = "frame"
	// BodyStart, BodyDone and BodyFailed stand around a body, BodyStopped tells that its context has ended, and why.
	BodyStart   = "start"
	BodyDone    = "done"
	BodyFailed  = "fail"
	BodyStopped = "stop"
	// StepRun: a sub-step is executed. StepDone: Step has returned, so the value is durable.
	StepRun  = "step"
	StepDone = "stepped"
	// Delivering: a courier hands effect Key to the outside world.
	Delivering = "deliver"
	// Held: the run has another owner. Ended: it was driven to its end, or parked, with a status. Quit: the worker no
	// longer drives it, because of an error of that code.
	Held  = "held"
	Ended = "ended"
	Quit  = "quit"
)

// Line is a line of a side-effect log.
type Line struct {
	Kind string `json:"k"`
	// Who is the process, or what plays one.
	Who string `json:"w"`
	Run string `json:"r,omitempty"`
	// Path and Attempt name a task's attempt, Key is its idempotency key, or an effect's operation id.
	Path    string `json:"p,omitempty"`
	Attempt int    `json:"a,omitempty"`
	Key     string `json:"key,omitempty"`
	// N and Hash are a frame's.
	N    int64  `json:"n,omitempty"`
	Hash string `json:"h,omitempty"`
	// Name is a sub-step's, Value what it gave, what was delivered, or why something ended.
	Name  string `json:"name,omitempty"`
	Value string `json:"v,omitempty"`
}

// Log is a process's side-effect log. Any number of processes append to one file.
type Log struct {
	file *os.File
	who  string
}

// OpenLog opens or creates the file; who is put into all lines.
func OpenLog(path, who string) (*Log, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &Log{file: file, who: who}, nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// Add appends a line in one write, and panics if it can't: a harness whose log has holes proves nothing. The line break
// comes first, so that a line cut off by a kill in the middle of the write spoils no other.
func (l *Log) Add(line Line) {
	line.Who = l.who
	raw, err := json.Marshal(line)
	if err == nil {
		_, err = l.file.Write(append([]byte{'\n'}, raw...))
	}
	if err != nil {
		panic(fmt.Sprintf("the side-effect log: %v", err))
	}
}

// ReadLog returns the lines about a run, and those about none, in order. Fragments, which only a kill leaves, are
// counted.
func ReadLog(path, run string) (lines []Line, fragments int, err error) {
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for _, text := range bytes.Split(raw, []byte{'\n'}) {
		if len(text) == 0 {
			continue
		}
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
			fragments++
			continue
		}
		if line.Run == "" || line.Run == run {
			lines = append(lines, line)
		}
	}
	return lines, fragments, nil
}
