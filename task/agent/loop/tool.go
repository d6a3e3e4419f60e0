package loop

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
)

// resultOf is what the model is told of a call.
func resultOf(use window.Block, out toolcall.Outcome) window.Block {
	return window.Block{Kind: window.ToolResult, ID: use.ID, Name: use.Name, Text: out.Text, Error: out.Error}
}

// results runs the tools that a turn asks for, side by side. The results come in the order of the calls.
func (c *conversation) results(ctx context.Context, n int, calls []window.Block) ([]window.Block, error) {
	caller := &toolcall.Caller{Tools: c.tools, Allowed: c.allowed, Timeout: orDefault(c.agent.ToolTimeout, DefaultToolTimeout, 0),
		Observe: func(use window.Block, ended bool, err error) {
			kind := ToolBegun
			if ended {
				kind = ToolEnded
			}
			c.tell(Event{Kind: kind, Name: use.Name, ID: use.ID, Failed: err != nil}, n)
		}}
	results := make([]window.Block, len(calls))
	var group errgroup.Group
	group.SetLimit(orDefault(c.agent.Parallel, DefaultParallel, DefaultParallel))
	for i, use := range calls {
		// The number stands for the call, not its id: some servers give the same id twice, or none.
		name := fmt.Sprintf("%s.turn.%d.tool.%d", c.name, n, i+1)
		group.Go(func() error {
			out, err := caller.Do(ctx, name, use)
			results[i] = resultOf(use, out)
			return err
		})
	}
	return results, group.Wait()
}
