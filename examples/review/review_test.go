package review_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/examples/internal/runtest"
	"github.com/cairnrun/cairn/examples/review"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// The first review takes three rounds, and in the last one the run has used up its tokens: a fresh one goes on, with the open
// finding. The second review, of another directory, knows what the first has taught and takes one round.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "review")
	check(err)
	defer os.RemoveAll(dir)
	rt := &memory.Runtime{}
	home, err := runtest.Open(ctx, dir, engine.Config{Workflows: []cairn.Definer{review.Workflow}, Middleware: []engine.Middleware{rt.Middleware}})
	check(err)
	defer home.Close()
	store, err := lanes.Open(ctx, lanes.Config{DB: home.Runs.DB()})
	check(err)
	rt.Store = store

	for _, name := range []string{"first", "second"} {
		report, err := runtest.Perform(ctx, home, review.Workflow, name,
			review.Input{Goal: "Clamp returns the wrong bound for a v above high.", Dir: filepath.Join(dir, name), Budget: 50_000})
		check(err)
		for id := name; id != ""; {
			info, err := home.Runs.Run(ctx, id)
			check(err)
			state, _, err := engine.Load(ctx, home.Runs, id)
			check(err)
			fmt.Printf("%s: %s, %d tokens, %v\n", id, info.Status, state.Ledgers["#aspects"].Spent.Tokens, slices.Sorted(maps.Keys(state.Tasks)))
			if state.Envelope != nil {
				fmt.Printf("  was handed %s\n", state.Envelope.State)
			}
			id = info.Successor
		}
		for _, line := range report.Log {
			fmt.Println("-", line)
		}
	}
	notes, err := store.Notes(ctx, memory.Scope{Bank: review.Bank})
	check(err)
	for _, n := range notes {
		fmt.Println("remembered:", n.Body)
	}
	code, err := os.ReadFile(filepath.Join(dir, "second", "clamp.go"))
	check(err)
	fmt.Printf("%s", code)
	// Output:
	// first: continued, 56500 tokens, [prepare round[0]/implement round[0]/review round[1]/implement round[1]/review round[2]/implement]
	// first.2: finished, 21000 tokens, [report round[0]/implement round[0]/review]
	//   was handed {"findings":["clamp.go: nothing says what low and high have to be."],"log":["changed: Clamp returns high for a v above it.","found: clamp_test.go: no case lies above the range.","changed: The test has a case above the range.","found: clamp.go: nothing says what low and high have to be.","changed: The test has a case above the range. The comment says what low and high have to be."]}
	// - changed: Clamp returns high for a v above it.
	// - found: clamp_test.go: no case lies above the range.
	// - changed: The test has a case above the range.
	// - found: clamp.go: nothing says what low and high have to be.
	// - changed: The test has a case above the range. The comment says what low and high have to be.
	// - changed: The test has a case above the range. The comment says what low and high have to be.
	// - approved
	// second: finished, 24000 tokens, [prepare report round[0]/implement round[0]/review]
	// - changed: Clamp returns high for a v above it. The test has a case above the range. The comment says what low and high have to be.
	// - approved
	// remembered: The test of a function that returns a bound, as Clamp does, has a case with a v above high: reviews ask for it.
	// remembered: The comment of a function that returns a bound, as Clamp does, says what low and high have to be: reviews ask for it.
	// package clamp
	//
	// // Clamp returns v, or the bound that is nearest to it. low must not be above high.
	// func Clamp(v, low, high int) int {
	// 	if v < low {
	// 		return low
	// 	}
	// 	if v > high {
	// 		return high
	// 	}
	// 	return v
	// }
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
