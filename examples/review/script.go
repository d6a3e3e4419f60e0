package review

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
)

// A defect is something about the sample that can be seen in a file, and mended by an edit.
type defect struct {
	file string
	// old is there as long as the defect is; or missing is not.
	old, missing string
	edit         fsEdit
	// goal says that the goal has it in it. All else the implementer does not think of by itself.
	goal bool
	// finding is what the reviewer says, lesson what it remembers, done what the implementer says afterwards.
	finding, lesson, done string
}

type fsEdit struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// defects of the sample, in the order in which the reviewer sees them.
var defects = []defect{
	{
		file: codeFile, goal: true, old: "if v > high {\n\t\treturn low\n",
		edit:    fsEdit{codeFile, "if v > high {\n\t\treturn low\n", "if v > high {\n\t\treturn high\n"},
		finding: "clamp.go: a v above high still becomes low.",
		done:    "Clamp returns high for a v above it.",
	},
	{
		file: testFile, missing: "{12, 9},",
		edit:    fsEdit{testFile, "\t\t{5, 5},\n", "\t\t{5, 5},\n\t\t{12, 9},\n"},
		finding: "clamp_test.go: no case lies above the range.",
		lesson:  "The test of a function that returns a bound, as Clamp does, has a case with a v above high: reviews ask for it.",
		done:    "The test has a case above the range.",
	},
	{
		file: codeFile, missing: "low must not be above high",
		edit:    fsEdit{codeFile, "nearest to it.\n", "nearest to it. low must not be above high.\n"},
		finding: "clamp.go: nothing says what low and high have to be.",
		lesson:  "The comment of a function that returns a bound, as Clamp does, says what low and high have to be: reviews ask for it.",
		done:    "The comment says what low and high have to be.",
	},
}

// in says whether the files show the defect.
func (d defect) in(seen map[string]string) bool {
	text := seen[d.file]
	return d.old != "" && strings.Contains(text, d.old) || d.missing != "" && !strings.Contains(text, d.missing)
}

// The scripts look at what the tools have shown, as a model would: nothing is decided by the number of the turn. So they do the
// right thing too when a file is not as it was, because a process has died in the middle.
var (
	implementerScript = &scripted.Model{Name: model, Answer: implement, Variant: "implementer 1"}
	reviewerScript    = &scripted.Model{Name: model, Answer: review, Variant: "reviewer 1"}
)

// model is what the scripts pretend to be, for prices.
const model = "claude-haiku-4-5"

// A look at the files costs little, an answer much: so it doesn't matter for a budget whether something had to be looked up twice.
var (
	little = []cairn.Usage{{Model: model, Input: 400, Output: 100}}
	much   = []cairn.Usage{{Model: model, Input: 9_000, Output: 1_000}}
)

const pause = 20 * time.Millisecond

// implement is the next turn of the implementer.
func implement(w loop.Window) scripted.Turn {
	seen, fresh := files(w)
	if !fresh {
		return look
	}
	if strange(seen) {
		return refusal
	}
	wanted := asked(w)
	for _, d := range wanted {
		if d.in(seen) {
			return scripted.Turn{Calls: []scripted.Call{{Name: "fs_edit", Input: d.edit}}, Usage: little, Delay: pause}
		}
	}
	var done []string
	for _, d := range wanted {
		if !d.goal || !strings.Contains(said(w), found) { // after a review that was done before
			done = append(done, d.done)
		}
	}
	return says(Change{Summary: strings.Join(done, " ")})
}

// review is the next turn of the reviewer.
func review(w loop.Window) scripted.Turn {
	seen, fresh := files(w)
	if !fresh {
		return look
	}
	if strange(seen) {
		return refusal
	}
	for _, d := range defects {
		if !d.in(seen) {
			continue
		}
		if d.lesson != "" && has(w.Tools, "remember") && !called(w, "remember") {
			return scripted.Turn{Calls: []scripted.Call{{Name: "remember", Input: map[string]string{"text": d.lesson}}}, Usage: little, Delay: pause}
		}
		return says(Verdict{Findings: []string{d.finding}})
	}
	return says(Verdict{Approved: true, Findings: []string{}})
}

// look reads both files at once.
var look = scripted.Turn{
	Calls: []scripted.Call{{Name: "fs_read", Input: map[string]string{"path": codeFile}}, {Name: "fs_read", Input: map[string]string{"path": testFile}}},
	Usage: little, Delay: pause,
}

// refusal is for other directories than that of the sample.
var refusal = scripted.Turn{Stop: loop.StopRefusal, Why: "the scripted agents know the sample only: name an empty directory, or a real agent with --agent", Usage: little}

func says(v any) scripted.Turn {
	raw, err := json.Marshal(v)
	if err != nil { // of text: it can't fail
		panic(err)
	}
	return scripted.Turn{Text: string(raw), Usage: much, Delay: pause}
}

// asked are the defects that the implementer thinks of: what the goal is, what the review has found, what is remembered.
func asked(w loop.Window) (wanted []defect) {
	prompt := said(w)
	for _, d := range defects {
		if d.goal || strings.Contains(prompt, d.finding) || d.lesson != "" && strings.Contains(prompt, d.lesson) {
			wanted = append(wanted, d)
		}
	}
	return wanted
}

// said is all text of the user: the prompt, and what memory puts before it.
func said(w loop.Window) (text string) {
	for _, m := range w.Messages {
		if m.Role == window.User {
			text += window.Said(m.Blocks)
		}
	}
	return text
}

// files are what was last read of each, and whether nothing was edited since.
func files(w loop.Window) (seen map[string]string, fresh bool) {
	seen = map[string]string{}
	for _, m := range w.Messages {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == window.ToolResult && b.Name == "fs_read":
				fresh = true // what is as it was is only pointed at
				head, text, _ := strings.Cut(b.Text, "\n")
				for _, name := range []string{codeFile, testFile} {
					if strings.HasPrefix(head, name+":") {
						seen[name] = text
					}
				}
				if b.Error {
					seen["error"] = b.Text
				}
			case b.Kind == window.ToolResult && b.Name == "fs_edit":
				fresh = false // also when it is not known whether it has happened
			}
		}
	}
	return seen, fresh
}

// strange says that these are not the files of the sample.
func strange(seen map[string]string) bool {
	return seen["error"] != "" || !strings.Contains(seen[codeFile], "func Clamp(v, low, high int) int")
}

// called says whether a tool has been.
func called(w loop.Window, name string) bool {
	return slices.ContainsFunc(w.Messages, func(m window.Message) bool {
		return slices.ContainsFunc(m.Blocks, func(b window.Block) bool { return b.Kind == window.ToolResult && b.Name == name })
	})
}

func has(tools []cairn.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t cairn.Tool) bool { return t.Name == name })
}
