package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// TestProvidersReductionIsJournaled: what the provider has left out is kept with each call, is told once also over attempts, and is
// counted by what is new; another model's calls are counted by themselves.
func TestProvidersReductionIsJournaled(t *testing.T) {
	gone := []int{0, 2, 2, 5, 1, 5, 0}
	var events []string
	d := &desk{}
	m := &model{answer: func(_ context.Context, _ loop.Window, n int) (loop.Turn, error) {
		turn := wants(use(fmt.Sprint("u", n), "echo", fmt.Sprintf(`{"n":%d}`, n)))
		if n == len(gone) {
			turn = says("done")
			turn.Blocks = append([]window.Block{{Kind: window.Compaction, Provider: "script", Raw: json.RawMessage(`{}`)}}, turn.Blocks...)
		}
		if gone[n-1] > 0 {
			turn.Edits = []loop.Edit{{Type: "clear", Results: gone[n-1], Tokens: int64(100 * gone[n-1])}}
		}
		if n == 5 {
			turn.Usage[0].Model = "other"
		}
		if n == 3 && d.attempt == 1 {
			return loop.Turn{}, errors.New("cut")
		}
		return turn, nil
	}}
	node := textTask(&loop.Agent{Model: m, Retries: -1, Observe: func(ev loop.Event) {
		if ev.Kind == loop.Cleared || ev.Kind == loop.Compacted {
			events = append(events, fmt.Sprint(ev.Turn, " ", ev.Kind))
		}
	}})
	d.tools = append(d.tools, echo("echo"))
	if _, err := d.try(t.Context(), t, node); err == nil {
		t.Fatal("the first attempt has not failed")
	}
	if _, err := d.try(t.Context(), t, node); err != nil {
		t.Fatal(err)
	}
	if want := []string{"2 cleared", "4 cleared", "5 cleared", "7 compacted"}; !slices.Equal(events, want) {
		t.Errorf("observers are told %q, want %q", events, want)
	}
	held, err := loop.Read(d.disk.Records)
	if err != nil || len(held) != 1 || len(held[0].Calls) != len(gone) {
		t.Fatalf("%+v, %v", held, err)
	}
	for i, want := range []int{0, 2, 0, 3, 1, 0, 0} {
		c := held[0].Calls[i]
		if c.Edited.Results != want || c.Edited.Tokens != int64(100*want) || len(c.Turn.Edits) != min(gone[i], 1) {
			t.Errorf("call %d: %+v of %+v", c.N, c.Edited, c.Turn.Edits)
		}
	}
	if _, cleared, compactions := held[0].Reduced(); cleared != 6 || compactions != 1 {
		t.Errorf("%d cleared, %d compactions are counted", cleared, compactions)
	}
}
