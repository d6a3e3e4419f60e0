package research_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/examples/internal/runtest"
	"github.com/cairnrun/cairn/examples/research"
)

// Four delegates look into a part each. In the first round the writer says two things that no finding says; the check sends
// them back, and the second round leaves them out.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "research")
	check(err)
	defer os.RemoveAll(dir)
	home, err := runtest.Open(ctx, dir, engine.Config{Workflows: []cairn.Definer{research.Workflow}})
	check(err)
	defer home.Close()

	in := *research.Workflow.Example
	in.Dir = filepath.Join(dir, "documents")
	report, err := runtest.Perform(ctx, home, research.Workflow, "lamp", in)
	check(err)
	state, _, err := engine.Load(ctx, home.Runs, "lamp")
	check(err)
	for _, path := range []string{"plan", "fuel/research", "lens/research", "money/research", "rights/research"} {
		fmt.Printf("%s: %d tokens\n", path, state.Tasks[path].Spent.Tokens)
	}
	var round struct{ Rejected []research.Rejection }
	check(json.Unmarshal(state.Tasks["round[0]/check"].Output, &round))
	for _, r := range round.Rejected {
		fmt.Println("rejected:", r.Claim, r.Why)
	}
	fmt.Printf("%d claims from %d documents in %d rounds\n\n", len(report.Claims), len(report.Sources), report.Rounds)
	text, err := home.Text(ctx, report.File)
	check(err)
	fmt.Print(text)
	// Output:
	// plan: 2168 tokens
	// fuel/research: 4462 tokens
	// lens/research: 6063 tokens
	// money/research: 4323 tokens
	// rights/research: 4347 tokens
	// rejected: The storm of 1908 broke the great lens. "The storm of 1908 broke the great lens." has no reference [artifact:HASH#n]
	// rejected: The keepers' goat lived to the end [artifact:4eee4d94826d#9]. [artifact:4eee4d94826d#9]: the artifact has 3 findings
	// 10 claims from 7 documents in 2 rounds
	//
	// # The lamp on Merrow Skerry
	//
	// - The lamp burns kelp oil and nothing else [artifact:0ed277d67039#1].
	// - After the only press burned down in March 1929 there was oil for twenty months [artifact:0ed277d67039#2].
	// - A museum in Torrin has a press of the same pattern that works [artifact:0ed277d67039#3].
	// - No prism of the lens is broken, and eleven are loose [artifact:1fd7248d09d2#1].
	// - The turning gear has to be replaced [artifact:1fd7248d09d2#2].
	// - From 1930 on the dues that paid for the lamp no longer covered it [artifact:d7dbb25ecf4c#1].
	// - Putting lens, gear and wicks right was estimated at 84,000 crowns, without oil [artifact:d7dbb25ecf4c#2].
	// - The lamp was put out on 1 November 1931 [artifact:4eee4d94826d#1].
	// - Whoever lights it must give notice a year before [artifact:4eee4d94826d#2].
	// - After a hundred years of darkness the right falls to the crown [artifact:4eee4d94826d#3].
	//
	// ## Findings
	//
	// - [artifact:0ed277d67039#1] oil.txt: "burned kelp oil and nothing else"
	// - [artifact:0ed277d67039#2] press-1929.txt: "the keepers had oil for twenty months in the cellar"
	// - [artifact:0ed277d67039#3] press-1929.txt: "A press of the same pattern is in the museum of Torrin, and its keeper there says that it works."
	// - [artifact:1fd7248d09d2#1] survey-1998.txt: "No prism of the great lens is broken; eleven of them are loose in their frame."
	// - [artifact:1fd7248d09d2#2] survey-1998.txt: "The turning gear is seized and has to be replaced."
	// - [artifact:d7dbb25ecf4c#1] accounts.txt: "From 1930 on the dues brought in 120 crowns a year"
	// - [artifact:d7dbb25ecf4c#2] estimate-2004.txt: "To set the prisms, to replace the turning gear and to make wicks: 84,000 crowns."
	// - [artifact:4eee4d94826d#1] notice-1931.txt: "will be put out on 1 November 1931"
	// - [artifact:4eee4d94826d#2] charter.txt: "must give notice to all masters a year before"
	// - [artifact:4eee4d94826d#3] charter.txt: "If it is dark for a hundred years the right to light it falls to the crown."
	//
	// Written in 2 rounds. The check of references has rejected 2 claims.
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
