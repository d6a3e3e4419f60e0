package delegate

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// writers are the sub-agents of this process that may change something at the moment.
var writers turns

// turns lets one writer at a time into a directory, with all that is below it.
type turns struct {
	mu    sync.Mutex // guards the rest
	held  []string
	freed chan struct{}
}

// heldKey holds the directories that a context's work is in already.
type heldKey struct{}

// enter waits until nobody writes in the directory, above or below it. A writer that delegates further has its turn already.
func (w *turns) enter(ctx context.Context, dir string) (inside context.Context, leave func(), err error) {
	if whole, err := filepath.Abs(filepath.FromSlash(dir)); err == nil {
		dir = whole
	}
	mine, _ := ctx.Value(heldKey{}).([]string)
	inside = context.WithValue(ctx, heldKey{}, append(slices.Clip(mine), dir))
	for {
		w.mu.Lock()
		taken := slices.ContainsFunc(w.held, func(other string) bool { return overlap(dir, other) && !slices.Contains(mine, other) })
		switch {
		case !taken:
			w.held = append(w.held, dir)
		case w.freed == nil:
			w.freed = make(chan struct{})
		}
		freed := w.freed
		w.mu.Unlock()
		if !taken {
			return inside, func() { w.leave(dir) }, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

func (w *turns) leave(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.held, dir)
	w.held = slices.Delete(w.held, i, i+1)
	if w.freed != nil { // all who wait look again
		close(w.freed)
		w.freed = nil
	}
}

// overlap says that one directory is the other, or inside of it.
func overlap(a, b string) bool {
	inside := func(a, b string) bool {
		rest, err := filepath.Rel(a, b)
		return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
	}
	return inside(a, b) || inside(b, a)
}
