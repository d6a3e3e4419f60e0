package cachereport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/task/agent/window"
)

// TestEachBlockIsHashedOnce: a further turn costs its own blocks, not the whole window.
func TestEachBlockIsHashedOnce(t *testing.T) {
	const turns = 400
	setup := window.Setup{System: strings.Repeat("read ", 500), Cache: window.Rules{Marks: 4, Minimum: 100}, Reduction: window.Reduction{Trigger: -1, Compact: -1},
		Tools: []window.Tool{{Name: "read"}}}
	say := func(text string) []window.Block { return []window.Block{{Kind: window.Text, Text: text}} }
	open := window.Opening{Setup: setup, First: window.Message{Role: window.User, Blocks: say("go")}, Parts: []window.Part{window.PartPrompt}}
	p := window.Open(open)
	var calls []Call
	for n := 1; n <= turns; n++ {
		plan := p.Decide(window.Now{At: int64(n)})
		p.Apply(plan)
		calls = append(calls, Call{Path: "a", Conversation: "c", N: n, State: Answered, Setup: &open.Setup, Plan: plan, View: p.View(plan), Known: true})
		p.Said(say(fmt.Sprint("turn ", n)), nil)
		p.Told(say(fmt.Sprint("go on ", n, strings.Repeat(" page", 100))))
	}
	j := judge{hasher: hasher{map[*window.Block]unit{}, map[*window.Setup][]unit{}}, models: map[string]*model{}, newest: map[string]*seen{},
		following: following(calls), agents: map[*window.Setup]string{}}
	for i := range calls {
		j.call(i, &calls[i], &Line{})
	}
	if n := len(j.blocks); n != 2*turns-1 {
		t.Errorf("%d blocks were hashed, for %d that were said", n, 2*turns-1)
	}
}

func TestAlike(t *testing.T) {
	long := strings.Repeat("Read before you write. ", 10)
	tools := func(names ...string) (list []window.Tool) {
		for _, name := range names {
			list = append(list, window.Tool{Name: name})
		}
		return list
	}
	for name, c := range map[string]struct {
		a, b window.Setup
		want bool
	}{
		"a clock in the middle": {window.Setup{System: long + "10:00" + long}, window.Setup{System: long + "11:30" + long}, true},
		"a tool less":           {window.Setup{Tools: tools("a", "b", "c")}, window.Setup{Tools: tools("a", "c")}, true},
		"other tools":           {window.Setup{System: long, Tools: tools("a", "b")}, window.Setup{System: long, Tools: tools("c", "d")}, false},
		"other words":           {window.Setup{System: long}, window.Setup{System: strings.Repeat("Say nothing. ", 20)}, false},
		"nothing at all":        {window.Setup{}, window.Setup{}, false},
		"one is silent":         {window.Setup{System: long, Tools: tools("a")}, window.Setup{Tools: tools("a")}, false},
	} {
		if alike(&c.a, &c.b) != c.want || alike(&c.b, &c.a) != c.want {
			t.Errorf("%s: alike is not %t", name, c.want)
		}
	}
}
