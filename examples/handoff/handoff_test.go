package handoff_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/examples/handoff"
	"github.com/cairnrun/cairn/examples/internal/runtest"
)

// The migration takes four runs. Each is handed the state that is printed, and nothing else: it begins without a task, an
// output or a token of those before it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "handoff")
	check(err)
	defer os.RemoveAll(dir)
	home, err := runtest.Open(ctx, dir, engine.Config{Workflows: []cairn.Definer{handoff.Workflow}})
	check(err)
	defer home.Close()
	outcome, err := home.Run(ctx, "handoff", "shop", handoff.Workflow.Example)
	check(err)

	for id := "shop"; id != ""; {
		info, err := home.Runs.Run(ctx, id)
		check(err)
		state, _, err := engine.Load(ctx, home.Runs, id)
		check(err)
		fmt.Printf("%s: generation %d, %s, %d tokens\n", id, info.Generation, info.Status, state.Ledgers["#aspects"].Spent.Tokens)
		if state.Envelope != nil {
			fmt.Printf("  was handed %s\n", state.Envelope.State)
		}
		fmt.Printf("  began with %d tasks, then did %v\n", tasksAtStart(ctx, home.Runs, id), slices.Sorted(maps.Keys(state.Tasks)))
		id = info.Successor
	}
	var report handoff.Report
	check(json.Unmarshal(outcome.Result, &report))
	fmt.Printf("%s %s: %d tables in %d runs\n", outcome.Run, outcome.Status, len(report.Moved), report.Runs)
	for _, lesson := range report.Lessons {
		fmt.Println("-", lesson)
	}
	// Output:
	// shop: generation 1, continued, 114000 tokens
	//   began with 0 tasks, then did [lessons work[0]/step work[1]/step work[2]/step work[3]/step]
	// shop.2: generation 2, continued, 114000 tokens
	//   was handed {"goal":"Move the shop to the new schema","done":["users","addresses","carts","orders"],"lessons":["users needs its triggers off while it is copied","addresses needs its triggers off while it is copied","carts needs its triggers off while it is copied"]}
	//   began with 0 tasks, then did [lessons work[0]/step work[1]/step work[2]/step work[3]/step]
	// shop.3: generation 3, continued, 114000 tokens
	//   was handed {"goal":"Move the shop to the new schema","done":["users","addresses","carts","orders","invoices","payments","refunds","coupons"],"lessons":["carts needs its triggers off while it is copied","refunds needs its triggers off while it is copied","coupons needs its triggers off while it is copied"]}
	//   began with 0 tasks, then did [lessons work[0]/step work[1]/step work[2]/step work[3]/step]
	// shop.4: generation 4, finished, 52000 tokens
	//   was handed {"goal":"Move the shop to the new schema","done":["users","addresses","carts","orders","invoices","payments","refunds","coupons","reviews","stock","suppliers","shipments"],"lessons":["stock needs its triggers off while it is copied","suppliers needs its triggers off while it is copied","shipments needs its triggers off while it is copied"]}
	//   began with 0 tasks, then did [report work[0]/step work[1]/step]
	// shop.4 finished: 14 tables in 4 runs
	// - stock needs its triggers off while it is copied
	// - suppliers needs its triggers off while it is copied
	// - shipments needs its triggers off while it is copied
	// - returns needs its triggers off while it is copied
	// - audit needs its triggers off while it is copied
}

// tasksAtStart counts the finished tasks that a run had in its first frame.
func tasksAtStart(ctx context.Context, store engine.Store, id string) (n int) {
	err := engine.ReadFrames(ctx, store, id, 1, func(f *core.Frame, hash string) error {
		if f.N > 1 {
			return nil
		}
		s := core.NewState()
		err := s.Fold(f, hash)
		for _, t := range s.Tasks {
			if t.Status == core.TaskFinished {
				n++
			}
		}
		return err
	})
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
