package contextlint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/contextlint"
	"github.com/cairnrun/cairn/task/agent/delegate"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

var now = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// render is the i-th of a task with a setup and a prompt.
func render(i int, setup window.Setup, prompt string) contextlint.Render {
	o := window.Opening{Setup: setup, First: window.Message{Role: window.User, Blocks: []window.Block{{Kind: window.Text, Text: prompt}}}, Parts: []window.Part{window.PartPrompt}}
	return contextlint.Render{Opening: o, Run: fmt.Sprint("lint-", i), Now: now.Add(time.Duration(i) * 25 * time.Hour)}
}

func named(names ...string) (list []window.Tool) {
	for _, name := range names {
		list = append(list, window.Tool{Name: name, Description: "The only one for the " + name + " of " + strings.ToUpper(name) + "."})
	}
	return list
}

func numbers(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("tool%c", 'a'+i))
	}
	return names
}

// same renders a task twice.
func same(setup window.Setup, prompt string) contextlint.Task {
	return contextlint.Task{Path: "a", Renders: []contextlint.Render{render(0, setup, prompt), render(1, setup, prompt)}}
}

// each renders a task with setups of its own.
func each(setups ...window.Setup) contextlint.Task {
	t := contextlint.Task{Path: "a"}
	for i, s := range setups {
		t.Renders = append(t.Renders, render(i, s, "go"))
	}
	return t
}

// TestCheck: each finding is made where it should be, and not of what is nearly the same.
func TestCheck(t *testing.T) {
	global := func(input string, prompts ...string) contextlint.Task {
		one := contextlint.Task{Path: "a", Global: true, Input: json.RawMessage(input)}
		for i, p := range prompts {
			one.Renders = append(one.Renders, render(i, window.Setup{}, p))
		}
		return one
	}
	example := func(prompt, answer string) window.Example { return window.Example{Prompt: prompt, Answer: answer} }
	described := func(texts ...string) (s window.Setup) {
		for i, text := range texts {
			s.Tools = append(s.Tools, window.Tool{Name: fmt.Sprintf("t%d", i+1), Description: text})
		}
		return s
	}
	for name, c := range map[string]struct {
		task contextlint.Task
		want string // code: a part of What; or nothing
	}{
		"nothing":       {same(window.Setup{System: "Be good. See RFC 2119, of March 1997.", Tools: named("read", "write"), Size: 1000}, "go"), ""},
		"twenty tools":  {same(window.Setup{Tools: named(numbers(20)...)}, "go"), ""},
		"21 tools":      {same(window.Setup{Tools: named(numbers(21)...)}, "go"), "TOO_MANY_TOOLS: has 21 tools"},
		"long tools":    {same(window.Setup{Tools: described(strings.Repeat("word ", 100)).Tools, Size: 1000}, "go"), "LONG_TOOLS: more than 10 % of the model's window of 1000"},
		"short tools":   {same(window.Setup{Tools: described(strings.Repeat("word ", 60)).Tools, Size: 1000}, "go"), ""},
		"unknown size":  {same(described(strings.Repeat("word ", 9000)), "go"), ""},
		"overlap":       {same(described("Finds text in the files of the project.", "Finds the text in all files of this project."), "go"), "OVERLAPPING_TOOLS: of t1 and t2 share 80 %"},
		"equal":         {same(described("Search.", "Search."), "go"), "OVERLAPPING_TOOLS: share 100 %"},
		"apart":         {same(described("Finds text in the files of the project.", "Finds files of the project by the pattern of their names."), "go"), ""},
		"undescribed":   {same(described("", ""), "go"), ""},
		"near examples": {same(window.Setup{Examples: []window.Example{example("Is the house on the hill behind the church red or blue today?", "It is red, since May."), example("Is the house on the hill behind the church red or blue now?", "It is red, since May.")}}, "go"), "SIMILAR_EXAMPLES: the examples 1 and 2"},
		"examples":      {same(window.Setup{Examples: []window.Example{example("Is the house red?", "It is."), example("How many doors has it?", "Two.")}}, "go"), ""},
		"a time":        {same(window.Setup{System: "Today is 2025-01-02T03:04:05Z."}, "go"), `CLOCK_IN_PREFIX: the system text has "2025-01-02T03:04:05Z" in it`},
		"today":         {same(window.Setup{System: "Today is 2026-03-01."}, "go"), "CLOCK_IN_PREFIX: 2026-03-01"},
		"a date":        {same(window.Setup{System: "The law of 2019-05-01, and 1234567890 grains."}, "go"), ""},
		"an id":         {same(window.Setup{Examples: []window.Example{example("who?", "0b9e2c1a-7f3d-4c55-9a21-3f1c2b4d5e6f")}}, "go"), "CLOCK_IN_PREFIX: what the examples show"},
		"in a tool":     {same(described("Reads as of 1772359200, in seconds."), "go"), "CLOCK_IN_PREFIX: the tool t1"},
		"in the prompt": {same(window.Setup{System: "s"}, "It is 2026-03-01T10:00:00Z."), ""},
		"differing":     {each(window.Setup{System: "Turn one, says the clock."}, window.Setup{System: "Turn two, says the clock."}), `CLOCK_IN_PREFIX: at byte 5 stands "Turn one`},
		"a tool more":   {each(window.Setup{Tools: named("a", "b")}, window.Setup{Tools: named("a", "b")}, window.Setup{Tools: named("a", "b", "c")}), "VARYING_TOOLS: a, b and a, b, c"},
		"another order": {each(window.Setup{Tools: named("a", "b")}, window.Setup{Tools: named("b", "a")}), "VARYING_TOOLS: a, b and b, a"},
		"unsorted":      {same(window.Setup{System: `Settings: {"b":1,"a":2}`}, "go"), `UNSORTED_JSON: the system text has JSON whose keys are not sorted: "b" stands before "a"`},
		"unsorted dep":  {same(window.Setup{}, "Look: "+task.Dep("plan", `{"x": [{"a":1}, {"z":1,"k":2}]}`)), `UNSORTED_JSON: the part "plan" of the prompt`},
		"sorted dep":    {same(window.Setup{}, "Look: "+task.Dep("plan", map[string]any{"z": 1, "k": map[string]int{"b": 1, "a": 2}})), ""},
		"no JSON":       {same(window.Setup{}, `func f() { if x { return } } {"b":1,"a" and {"a":1,"b":2}`), ""},
		"after code":    {same(window.Setup{}, `func f() { return } {"b":1,"a":{}}`), "UNSORTED_JSON: the prompt"},
		"run id":        {global(`{}`, "for lint-0, please", "for lint-1, please"), "SHARED_RUN_DATA: the run's id"},
		"run time":      {global(`{}`, "as of monday", "as of tuesday"), "SHARED_RUN_DATA: not the same in two runs"},
		"run path":      {global(`{"dir":"/home/ape/work"}`, "in /home/ape/work", "in /home/ape/work"), `SHARED_RUN_DATA: "/home/ape/work" of the run's input`},
		"run input id":  {global(`{"ids":["0b9e2c1a-7f3d-4c55-9a21-3f1c2b4d5e6f"]}`, "of 0b9e2c1a-7f3d-4c55-9a21-3f1c2b4d5e6f", "of 0b9e2c1a-7f3d-4c55-9a21-3f1c2b4d5e6f"), "SHARED_RUN_DATA: of the run's input"},
		"a topic":       {global(`{"topic":"the history of tea"}`, "on the history of tea", "on the history of tea"), ""},
		"not shared":    {contextlint.Task{Path: "a", Renders: []contextlint.Render{render(0, window.Setup{}, "for lint-0"), render(1, window.Setup{}, "for lint-1")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := contextlint.Check([]contextlint.Task{c.task})
			code, part, _ := strings.Cut(c.want, ": ")
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("found %+v", found)
			case c.want == "":
			case len(found) != 1 || found[0].Code != cairn.Code(code) || !strings.Contains(found[0].What, part):
				t.Errorf("want %s, found %+v", c.want, found)
			case found[0].Why == "" || found[0].Do == "" || found[0].Part == "" || fmt.Sprint(found[0].Paths) != "[a]":
				t.Errorf("not all is said: %+v", found[0])
			}
		})
	}
}

// TestFindingsOfAnAgentAreToldOnce: with all tasks that it is of, and the dearest first.
func TestFindingsOfAnAgentAreToldOnce(t *testing.T) {
	setup := window.Setup{System: "It is 2026-03-01T10:00:00Z.", Tools: named(numbers(21)...)}
	a, b := same(setup, "go"), same(setup, "stay")
	b.Path = "b"
	found := contextlint.Check([]contextlint.Task{a, b, {Path: "c"}})
	if len(found) != 2 || found[0].Code != contextlint.ClockInPrefix || found[1].Code != contextlint.TooManyTools || fmt.Sprint(found[1].Paths) != "[a b]" {
		t.Errorf("%+v", found)
	}
}

// TestOwnToolsAreClean: what Cairn brings along is nothing to warn of, all of it together.
func TestOwnToolsAreClean(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	all := append(tool.Files(root, tool.FileLimits{}), tool.Shell(root, tool.ShellPolicy{}), tool.ReadArtifact(), (&tool.Todo{}).Tool(),
		delegate.New(delegate.Config{Agent: &scripted.Agent{}}))
	all = append(all, memory.Tools(cairn.MemorySpec{Banks: []string{"b"}, Tools: string(memory.Files)})...)
	setup := window.Setup{Size: 200_000}
	for _, one := range all {
		setup.Tools = append(setup.Tools, window.ToolOf(one))
	}
	if found := contextlint.Check([]contextlint.Task{same(setup, "go")}); len(found) > 0 || len(all) < 12 {
		t.Errorf("%d tools, found %+v", len(all), found)
	}
}
