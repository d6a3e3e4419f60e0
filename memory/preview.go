package memory

import (
	"context"

	"github.com/cairnrun/cairn"
)

// Preview returns the block that a task with this memory would see if it began now with the prompt query, and the report on
// it. What spec leaves unset is as at the root. It writes nothing. As for a task, nothing is an error: a bank that does not
// answer is in the report.
func (r *Runtime) Preview(ctx context.Context, spec cairn.MemorySpec, query string) (block string, report cairn.Recall) {
	spec = spec.Under(cairn.RootMemory)
	if spec.Recall == "query" {
		query = spec.Query
	}
	snap := r.fetch(ctx, spec, query)
	return snap.Block, snap.Report
}
