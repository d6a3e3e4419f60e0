package journal

import (
	"context"

	"github.com/cairnrun/cairn"
)

// settlement says that an attempt has booked what those before it had used that were lost with their process.
type settlement struct {
	Attempt int `json:"attempt"`
}

// A Debt is what attempts have used that were lost with their process.
type Debt struct {
	call  *cairn.Call
	usage []cairn.Usage
}

// Add counts a usage that the journal has of an attempt, unless it is in a frame, or this attempt's own.
func (d *Debt) Add(attempt int, usage []cairn.Usage) {
	if d.call.Booked < attempt && attempt < d.call.Attempt {
		d.usage = append(d.usage, usage...)
	}
}

// Settle returns what earlier attempts have used in a conversation, as far as collect finds it in the journal and it is in no
// frame: for the agent to book before anything else, since the next attempt takes all before this one for booked, whatever
// becomes of it. An agent that is asked the same twice in an attempt gets it once.
func Settle(ctx context.Context, call *cairn.Call, name string, collect func(d *Debt) error) ([]cairn.Usage, error) {
	if call.Journal == nil || call.Attempt <= call.Booked+1 {
		return nil, nil
	}
	name += ".settled"
	done, _, err := Get[settlement](call.Journal.Lookup, name)
	if err != nil || done.Attempt == call.Attempt {
		return nil, err
	}
	d := Debt{call: call}
	if err := collect(&d); err != nil {
		return nil, err
	}
	return d.usage, Put(ctx, call.Journal, name, settlement{call.Attempt})
}
