package command

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/internal/toolset"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
)

// sameAs stands in the place of a result that the session was told before.
const sameAs = "Same as the result of your earlier call of %s, which had the same input. Nothing has changed since. " +
	"If you do not have it in view any more, all of it is the artifact %s: read it with %s."

// pointed are the tools whose results may be told by a pointer: those that only read. Not the list of things to do, which a program may
// ask for to see it, and not artifact_read, by which it comes to what it has no more.
func pointed(tools []cairn.Tool) map[string]bool {
	names := map[string]bool{}
	for _, t := range tools {
		names[t.Name] = !t.SideEffect && t.Name != toolset.Todo && t.Name != toolset.Artifact
	}
	return names
}

// told is what the program's session was told of whole results.
type told struct {
	mu sync.Mutex // guards newest
	// newest are the last ones, by tool and input.
	newest map[string]toldResult
}

type toldResult struct {
	call int
	hash string
}

// tell notes a whole result, and returns the one before it with the same tool and input if that has said the same.
func (t *told) tell(key string, call int, text string) (as int, same bool) {
	now := toldResult{call, window.Hash(text)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if was, found := t.newest[key]; found && was.hash == now.hash {
		return was.call, true
	}
	if t.newest == nil {
		t.newest = map[string]toldResult{}
	}
	t.newest[key] = now
	return 0, false
}

// drop is for a call whose result no later one may point to, or past.
func (t *told) drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.newest, key)
}

// forget is for a session that is new, or has lost what it was told.
func (t *told) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newest = nil
}

// shown is the text of an outcome as the program is told it: all of it, or a pointer where that is shorter. again says that it is
// taken from an earlier attempt, so that it may never have got there.
func (s *served) shown(ctx context.Context, key string, n int, out toolcall.Outcome, again bool) string {
	switch {
	case !s.pointed[out.Tool]:
		return out.Text
	case out.Error:
		s.told.drop(key)
		return out.Text
	case again:
		s.told.drop(key)
	}
	as, same := s.told.tell(key, n, out.Text)
	pointer := fmt.Sprintf(sameAs, out.Tool, strings.Repeat("0", len(window.Hash(""))), toolset.Artifact)
	if !same || len(pointer) >= len(out.Text) {
		return out.Text
	}
	kept, err := task.Step(ctx, transcript.SameName(s.name, n), func(ctx context.Context) (transcript.Same, error) {
		whole, aside := window.Aside(out.Text)
		if aside {
			return transcript.Same{As: as, Artifact: whole}, nil
		}
		whole, err := task.WriteArtifact(ctx, "repeated-"+out.Tool, "text/plain; charset=utf-8", strings.NewReader(out.Text))
		return transcript.Same{As: as, Artifact: whole}, err
	})
	if err != nil { // the call itself has gone well
		return out.Text
	}
	return fmt.Sprintf(sameAs, out.Tool, kept.Artifact.Hash, toolset.Artifact)
}
