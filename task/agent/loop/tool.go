package loop

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/internal/toolset"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
)

// resultOf is what the model is told of a call.
func resultOf(use window.Block, out toolcall.Outcome) window.Block {
	return window.Block{Kind: window.ToolResult, ID: use.ID, Name: use.Name, Text: out.Text, Error: out.Error}
}

// results runs the tools that a turn asks for, side by side. The results come in the order of the calls. Those of the list of things to
// do take turns: each has to find what the one before it has left, also where that one has finished before a kill.
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
	do := func(i int) error {
		// The number stands for the call, not its id: some servers give the same id twice, or none.
		out, err := caller.Do(ctx, fmt.Sprintf("%s.turn.%d.tool.%d", c.name, n, i+1), calls[i])
		results[i] = resultOf(calls[i], out)
		return err
	}
	var listing []int
	var group errgroup.Group
	group.SetLimit(orDefault(c.agent.Parallel, DefaultParallel, DefaultParallel))
	for i, use := range calls {
		if c.todo != nil && use.Name == toolset.Todo {
			listing = append(listing, i)
			continue
		}
		group.Go(func() error { return do(i) })
	}
	c.told = false
	group.Go(func() error {
		for _, i := range listing {
			if err := do(i); err != nil {
				return err
			}
			if err := c.listed(results[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return results, group.Wait()
}

// listed takes over what a result says of the list of things to do.
func (c *conversation) listed(result window.Block) error {
	if result.Error {
		return nil
	}
	c.told = true
	if err := c.todo.Restore(json.RawMessage(result.Text)); err != nil {
		return task.Permanent(err)
	}
	return nil
}
