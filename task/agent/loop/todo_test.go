package loop_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// TestAListThatIsMadeAtOnce: calls of one turn that change the list take turns, so that none undoes another, whichever of them had
// finished before a kill.
func TestAListThatIsMadeAtOnce(t *testing.T) {
	todo := func(n int, text string) window.Block {
		return use(fmt.Sprint(n), "todo", fmt.Sprintf(`{"add":[%q]}`, text))
	}
	list := "[ ] 1. plan\n[ ] 2. build\n[ ] 3. ship\n"
	for finished := range 8 { // a bit for each call of the list
		m := replies(wants(todo(1, "plan"), todo(2, "build"), use("3", "read", "{}"), todo(4, "ship")), wants(use("1", "read", "{}")), says("done"))
		agent := &loop.Agent{Model: m, Todo: true, Offload: -1, Tools: []cairn.Tool{echo("read")}}
		var d desk
		if _, err := d.try(t.Context(), t, textTask(agent)); err != nil {
			t.Fatal(err)
		}
		if text := endOf(m.windows[2]); !strings.Contains(text, list) {
			t.Fatalf("the list is not %q: %s", list, text)
		}
		kept := maps.Clone(d.disk.Records)
		for name := range kept {
			gone := !strings.HasSuffix(name, ".start") && !strings.Contains(name, ".turn.1")
			for bit, call := range []int{1, 2, 4} {
				gone = gone || finished&(1<<bit) == 0 && strings.Contains(name, fmt.Sprintf(".turn.1.tool.%d", call))
			}
			if gone {
				delete(kept, name)
			}
		}
		d.disk.Records, m.windows = kept, nil
		if _, err := d.try(t.Context(), t, textTask(agent)); err != nil {
			t.Fatal(err)
		}
		if text := endOf(m.windows[len(m.windows)-1]); !strings.Contains(text, list) {
			t.Errorf("with the calls %03b finished the list is not %q: %s", finished, list, text)
		}
	}
}

// endOf is the last block of a window.
func endOf(w loop.Window) string {
	blocks := w.Messages[len(w.Messages)-1].Blocks
	return blocks[len(blocks)-1].Text
}
