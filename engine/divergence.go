package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// maxDiff is how many lines of a difference are shown.
const maxDiff = 20

// explain makes the failure of a run that today's code renders differently: with the nodes that differ.
func (e *Engine) explain(ctx context.Context, id string, d *core.Divergence) (*cairn.Failure, error) {
	if d.Got == "" {
		return d.Failure, nil
	}
	then := core.Lines{}
	err := ReadFrames(ctx, e.cfg.Store, id, 1, func(f *core.Frame, _ string) error {
		if f.N <= d.Frame {
			then.Fold(f.Plan)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := *d.Failure
	f.Message = fmt.Sprintf("frame %d was made by code with another structure; - is then, + is now:\n%s\nresume with the code that wrote it, adopt the new structure, or decide with View.Patched",
		d.Frame, diff(then, d.Today))
	return &f, nil
}

// diff shows how a plan differs, in tree order of today's, then what is gone by path.
func diff(then core.Lines, today []core.Line) string {
	var out []string
	now := map[string]bool{}
	for _, l := range today {
		now[l.Path] = true
		was, known := then[l.Path]
		if known && was.String() == l.String() {
			continue
		}
		if known {
			out = append(out, "- "+was.String())
		}
		out = append(out, "+ "+l.String())
	}
	for _, path := range slices.Sorted(maps.Keys(then)) {
		if !now[path] {
			out = append(out, "- "+then[path].String())
		}
	}
	if more := len(out) - maxDiff; more > 0 {
		out = append(out[:maxDiff], fmt.Sprintf("… and %d more", more))
	}
	return strings.Join(out, "\n")
}
