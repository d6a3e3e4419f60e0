package command

import (
	"encoding/json"

	"github.com/cairnrun/cairn"
)

// Event is what a line of a program's output tells. Its zero value is a sign of life and nothing else.
type Event struct {
	// Session is what the conversation can be resumed by. It may be told more than once, and change.
	Session string
	// Answer is the answer as it stands, in place of the one before; Output is the structured one, if the program has that.
	Answer string
	Output json.RawMessage
	// Done says that the turn has ended well: there will be no other answer. Failure is why it has ended otherwise.
	Done    bool
	Failure *cairn.Failure
	// Usage are model calls that nothing was told of before. Totals is what the whole session has used, by model, if the
	// program counts so: the Reader of the session's next process gets it.
	Usage  []cairn.Usage
	Totals Totals
	// Compacted says that the program has taken something out of its window, and may not know any more what it was told.
	Compacted bool
	// Calling says that the model is about to be called again. A budget that is used up ends the program here.
	Calling bool
	// Said is some more text, Thought some more reasoning, Tool the name of a tool of the program's own that was called: all
	// for who observes.
	Said, Thought, Tool string
}

// Totals is what a session has used, by model.
type Totals map[string]cairn.Usage

// Reader reads the output of one process, line by line. It is used by one goroutine.
type Reader interface {
	// Line reads one line, without its end. An error says that it is none of the format: it is left out, and quoted if the
	// program ends without an answer.
	Line(line []byte) (Event, error)
	// End is called after the last line. Of a program that has ended with an error only a Failure counts.
	End() Event
}

// Format makes the Reader of a process. before is what the session had used when its last turn ended, nil for a new one.
type Format func(before Totals) Reader

// since is what was used after some other count: counts that have not begun anew are taken off.
func since(now, before cairn.Usage) cairn.Usage {
	if now.Input >= before.Input && now.Output >= before.Output && now.CacheRead >= before.CacheRead && now.CacheWrite >= before.CacheWrite {
		return less(now, before)
	}
	return now
}

// less is one usage without another. Nothing gets negative.
func less(a, b cairn.Usage) cairn.Usage {
	return cairn.Usage{Model: a.Model, Input: max(0, a.Input-b.Input), Output: max(0, a.Output-b.Output), CacheRead: max(0, a.CacheRead-b.CacheRead),
		CacheWrite: max(0, a.CacheWrite-b.CacheWrite), CacheWrite1h: max(0, a.CacheWrite1h-b.CacheWrite1h)}
}

func plus(a, b cairn.Usage) cairn.Usage {
	return cairn.Usage{Model: b.Model, Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheWrite: a.CacheWrite + b.CacheWrite, CacheWrite1h: a.CacheWrite1h + b.CacheWrite1h}
}
