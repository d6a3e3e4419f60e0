package toolcall

import (
	"slices"
	"sync"

	"github.com/cairnrun/cairn"
)

// tally is the meter of a call of a tool: what an agent behind it uses goes into the record of the call, so that it is known
// also when the process dies before the attempt is committed.
type tally struct {
	cairn.Meter

	mu    sync.Mutex // guards usage
	usage []cairn.Usage
}

// Spend books a call and keeps it.
func (t *tally) Spend(u cairn.Usage) {
	t.Meter.Spend(u)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usage = append(t.usage, u)
}

// spent is what the agents behind a tool have used.
func (t *tally) spent() []cairn.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.usage)
}
