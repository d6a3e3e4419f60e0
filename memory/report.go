package memory

import (
	"sync"

	"github.com/cairnrun/cairn"
)

// reports gathers those of one attempt. Tools may be called side by side.
type reports struct {
	mu   sync.Mutex
	list []cairn.Recall
}

func (r *reports) add(report cairn.Recall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, report)
}

func (r *reports) all() []cairn.Recall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}
