package research

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
)

// The scripts look at what the tools have shown, as a model would: nothing is decided by the number of the turn. So they do the
// right thing too when a process has died in the middle.
var (
	plannerScript    = &scripted.Model{Name: model, Answer: divide, Variant: "planner 1", Cache: prompts}
	researcherScript = &scripted.Model{Name: model, Answer: look, Variant: "researcher 1", Cache: prompts}
	writerScript     = &scripted.Model{Name: model, Answer: write, Variant: "writer 1", Cache: prompts}
)

// model is what the scripts pretend to be, for prices.
const model = "claude-sonnet-4-5"

// prompts is that model's prompt cache: cache-report tells what it would read and save.
var prompts = window.Rules{Marks: 4, Minimum: 1024, Lookback: 20, Life: 5 * time.Minute, Long: time.Hour}

const pause = 20 * time.Millisecond

// A study is how the scripts go about a part of the sample's question.
type study struct {
	Part
	files    []string
	findings []Finding
	// misread is what the researcher first takes the quote of its first finding for.
	misread, summary string
}

var studies = []study{
	{
		Part: Part{"fuel", "What did the lamp burn, and can that still be had?"}, files: []string{"oil.txt", "press-1929.txt"},
		findings: []Finding{
			{"The lamp burns kelp oil and nothing else", "oil.txt", "burned kelp oil and nothing else"},
			{"After the only press burned down in March 1929 there was oil for twenty months", "press-1929.txt", "the keepers had oil for twenty months in the cellar"},
			{"A museum in Torrin has a press of the same pattern that works", "press-1929.txt", "A press of the same pattern is in the museum of Torrin, and its keeper there says that it works."},
		},
		summary: "The oil ran out with the press; another press works.",
	},
	{
		Part: Part{"lens", "In what state is the lens, and was it ever broken?"}, files: []string{"letters.txt", "survey-1998.txt"},
		misread: "No prism of the lens is broken",
		findings: []Finding{
			{"No prism of the lens is broken, and eleven are loose", "survey-1998.txt", "No prism of the great lens is broken; eleven of them are loose in their frame."},
			{"The turning gear has to be replaced", "survey-1998.txt", "The turning gear is seized and has to be replaced."},
		},
		summary: "The lens is whole, its gear is not. Letters contradict one another about the storm.",
	},
	{
		Part: Part{"money", "What did the lamp cost, who paid, and what would it cost now?"}, files: []string{"accounts.txt", "estimate-2004.txt"},
		findings: []Finding{
			{"From 1930 on the dues that paid for the lamp no longer covered it", "accounts.txt", "From 1930 on the dues brought in 120 crowns a year"},
			{"Putting lens, gear and wicks right was estimated at 84,000 crowns, without oil", "estimate-2004.txt", "To set the prisms, to replace the turning gear and to make wicks: 84,000 crowns."},
		},
		summary: "The dues fell below the costs in 1930. An estimate of 2004 has no oil in it.",
	},
	{
		Part: Part{"rights", "Who may light the lamp, and until when?"}, files: []string{"charter.txt", "notice-1931.txt"},
		findings: []Finding{
			{"The lamp was put out on 1 November 1931", "notice-1931.txt", "will be put out on 1 November 1931"},
			{"Whoever lights it must give notice a year before", "charter.txt", "must give notice to all masters a year before"},
			{"After a hundred years of darkness the right falls to the crown", "charter.txt", "If it is dark for a hundred years the right to light it falls to the crown."},
		},
		summary: "The harbour of Ulsay may, until 2031, with a year's notice.",
	},
}

// divide is the next turn of the planner.
func divide(w loop.Window) scripted.Turn {
	seen, ok := last(w, "fs_grep")
	switch {
	case !ok: // the titles of all documents
		return calls(scripted.Call{Name: "fs_grep", Input: map[string]string{"pattern": "^# "}})
	case !strings.Contains(seen.Text, "# The oil of the Merrow lamp"):
		return scripted.Turn{Stop: loop.StopRefusal, Why: "the scripted agents know the sample only: name an empty directory, or a real agent with --agent"}
	}
	var p Plan
	for _, s := range studies {
		p.Parts = append(p.Parts, s.Part)
	}
	return says(p)
}

// look is the next turn of a researcher.
func look(w loop.Window) scripted.Turn {
	i := slices.IndexFunc(studies, func(s study) bool { return strings.Contains(said(w), s.Question) })
	if i < 0 {
		return scripted.Turn{Stop: loop.StopRefusal, Why: "the scripted agents know the parts of the sample's question only"}
	}
	s := studies[i]
	if _, ok := last(w, "fs_read"); !ok {
		var reads []scripted.Call
		for _, name := range s.files {
			reads = append(reads, scripted.Call{Name: "fs_read", Input: map[string]string{"path": name}})
		}
		return calls(reads...)
	}
	kept, tried := last(w, "keep_findings")
	if tried && !kept.Error {
		return says(Found{Summary: s.summary})
	}
	keep := findings{slices.Clone(s.findings)}
	if !tried && s.misread != "" {
		keep.Findings[0].Quote = s.misread
	}
	return calls(scripted.Call{Name: "keep_findings", Input: keep})
}

var hash = regexp.MustCompile(`[0-9a-f]{64}`)

// write is the next turn of the writer. Before it was told of a rejection it also says what it only believes.
func write(w loop.Window) scripted.Turn {
	if _, ok := last(w, "artifact_read"); !ok {
		var reads []scripted.Call
		for _, h := range hash.FindAllString(said(w), -1) {
			reads = append(reads, scripted.Call{Name: "artifact_read", Input: map[string]string{"artifact": h}})
		}
		return calls(reads...)
	}
	d := Draft{Title: "The lamp on Merrow Skerry", Claims: []string{}}
	cited := ""
	for _, r := range results(w, "artifact_read") {
		head, text, _ := strings.Cut(r.Text, "\n")
		name := strings.TrimPrefix(head, "artifact ")[:12]
		for line := range strings.Lines(text) {
			var f numbered
			if json.Unmarshal([]byte(line), &f) == nil && f.N > 0 {
				d.Claims = append(d.Claims, fmt.Sprintf("%s [artifact:%s#%d].", f.Claim, name, f.N))
				cited = name
			}
		}
	}
	if !strings.Contains(said(w), rejected) && cited != "" {
		d.Claims = append(d.Claims, "The storm of 1908 broke the great lens.", fmt.Sprintf("The keepers' goat lived to the end [artifact:%s#9].", cited))
	}
	return says(d)
}

func calls(all ...scripted.Call) scripted.Turn { return scripted.Turn{Calls: all, Delay: pause} }

func says(v any) scripted.Turn {
	raw, err := json.Marshal(v)
	if err != nil { // of text: it can't fail
		panic(err)
	}
	return scripted.Turn{Text: string(raw), Delay: pause}
}

// said is all text of the user.
func said(w loop.Window) (text string) {
	for _, m := range w.Messages {
		if m.Role == window.User {
			text += window.Said(m.Blocks)
		}
	}
	return text
}

// results are those of a tool, in order.
func results(w loop.Window, tool string) (all []window.Block) {
	for _, m := range w.Messages {
		for _, b := range m.Blocks {
			if b.Kind == window.ToolResult && b.Name == tool {
				all = append(all, b)
			}
		}
	}
	return all
}

func last(w loop.Window, tool string) (window.Block, bool) {
	all := results(w, tool)
	if len(all) == 0 {
		return window.Block{}, false
	}
	return all[len(all)-1], true
}
