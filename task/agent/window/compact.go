package window

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/internal/grapheme"
)

// Summary takes the place of all turns before the turn Upto, and of what was said before the first message.
type Summary struct {
	Upto int    `json:"upto"`
	Text string `json:"text,omitempty"`
}

// wish is a compaction that leaves the newest turns, as many as a batch of clearing has to free: they are what the model is
// in the middle of. Nil if there would be nothing to compact, or so little that each of the next calls would do it again: what
// fills such a window is its beginning, which stays.
func (p *Planner) wish(r Reduction, tokens int) *Summary {
	kept := 0
	upto := p.turn + 1
	for i := len(p.messages) - 1; i > p.first; i-- {
		kept += tokensOf(p.messages[i].Blocks)
		if p.turns[i] < upto {
			if kept > r.Free && upto <= p.turn {
				break
			}
			upto = p.turns[i]
		}
	}
	gone := 0
	for i, m := range p.messages {
		if p.turns[i] < upto && i != p.first {
			gone += tokensOf(m.Blocks)
		}
	}
	full := p.open.Setup.Size > 0 && tokens+r.Free > p.open.Setup.Size
	if gone == 0 || gone <= r.Free && !full {
		return nil
	}
	return &Summary{Upto: upto}
}

// compact puts a summary behind the first message and takes out what it stands for.
func (p *Planner) compact(s Summary) {
	first := Message{Role: User, Blocks: slices.Concat(p.open.First.Blocks, []Block{{Kind: Text, Text: summaryText(s.Text)}})}
	messages, turns := []Message{first}, []int{0}
	moved := map[int]int{}
	for i, m := range p.messages {
		if p.turns[i] >= s.Upto {
			moved[i] = len(messages)
			messages, turns = append(messages, m), append(turns, p.turns[i])
		}
	}
	var lost []int // pointers to what goes
	for i := range p.results {
		r := &p.results[i]
		at, stays := moved[r.message]
		if !stays {
			r.gone, r.message = true, none
			continue
		}
		r.message = at
		if r.same != none && p.results[r.same].message == none {
			lost = append(lost, i)
		}
	}
	before := 0
	for _, m := range p.messages {
		before += tokensOf(m.Blocks)
	}
	p.messages, p.turns, p.first = messages, turns, 0
	after := 0
	for _, m := range p.messages {
		after += tokensOf(m.Blocks)
	}
	p.tokens = max(p.open.Setup.fixed()+after, p.tokens-before+after)
	for _, i := range lost {
		p.restore(i)
	}
	p.changed(0)
}

func summaryText(text string) string {
	return "What was said so far has been replaced by this summary of it. Go on from there.\n<" + summaryTag + ">\n" + text + "\n</" + summaryTag + ">"
}

// Bounds of what a compactor is given of one block, and of what is kept word for word.
const (
	mostOfBlock  = 8 << 10
	mostSentence = 400
	mostKept     = 12 << 10
)

// CompactPrompt is what a compactor is asked first: recall before everything.
const CompactPrompt = `Below is the conversation of an agent at work on a task. It will be taken out of the agent's window, and your summary is all
that stays of it. Write down everything the agent may need to go on as if it remembered: what it was asked, each decision and the
reason for it, each bug and problem that is not solved yet, the plan and what of it is done, every file path, name, number,
command and identifier that matters, what has failed and why, what the user has asked for or ruled out. Leave out greetings,
repetitions, and output of tools that has led to nothing. Rather too much than too little: what you leave out is lost. Write in short
lines, grouped under the headings Decisions, Open problems, Plan, Files, Facts.`

// TightenPrompt is what it is asked when the summary is too long: precision second.
const TightenPrompt = `The summary below is too long. Say the same in at most %d words. Keep every decision, open problem, step of the plan, path, name and
number; take out what is said twice, and words that carry nothing.`

// DefaultSummary is how many tokens a summary may have before it is tightened, in a window of at least eight times as many.
const DefaultSummary = 4000

// summaryShare is which part of a small window a summary may fill, and again what is kept word for word.
const summaryShare = 8

// Summary is how many tokens a summary of the conversation may have where nothing else is said.
func (s Setup) Summary() int {
	if s.Size > 0 {
		return min(DefaultSummary, s.Size/summaryShare)
	}
	return DefaultSummary
}

// Brief is what a compactor reads: the part of the conversation that is to be taken out, as text.
func (p *Planner) Brief(s Summary) string {
	var b strings.Builder
	for i, m := range p.messages {
		if p.turns[i] >= s.Upto {
			break
		}
		fmt.Fprintf(&b, "[%s]\n", m.Role)
		for _, block := range m.Blocks {
			brief(&b, block)
		}
	}
	return b.String()
}

func brief(b *strings.Builder, block Block) {
	text := grapheme.Cut(block.Text, mostOfBlock)
	switch block.Kind {
	case Text:
		b.WriteString(text + "\n")
	case ToolUse:
		fmt.Fprintf(b, "(calls %s with %s)\n", block.Name, grapheme.Cut(string(block.Input), mostOfBlock))
	case ToolResult:
		state := "gives"
		if block.Error {
			state = "fails"
		}
		fmt.Fprintf(b, "(%s %s: %s)\n", block.Name, state, text)
	}
}

// What code can tell to be worth keeping.
var (
	aPath     = regexp.MustCompile(`(?:[A-Za-z]:\\|~?/|\.{1,2}/)?[\w.@+-]+(?:[/\\][\w.@+-]+)+`)
	aHash     = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	aSentence = regexp.MustCompile(`[^.!?\n]+(?:[.!?](?:\S[^.!?\n]*)?)*`)
	states    = regexp.MustCompile(`(?i)\b(decid\w*|decision|chose\w*|instead of|bug|broken|fails?|failing|regression|unsolved|todo|fixme|plan|next step|must|never|always|do not|don't)\b`)
	labelled  = regexp.MustCompile(`(?i)^\W*(decision|bug|todo|fixme|plan)\b\W`)
	aWord     = regexp.MustCompile(`[\p{L}\p{N}_./-]+`)
)

// Missing lists what is worth keeping of the part that a summary stands for and is not in its text: paths, hashes of artifacts,
// and the sentences that state a decision, a bug or a plan. The newest come first, as many as there is room for.
func (p *Planner) Missing(s Summary) []string {
	known := readLines(s.Text)
	var missing []string
	room := mostKept
	if size := p.open.Setup.Size; size > 0 {
		room = min(room, size/summaryShare*bytesPerToken)
	}
	keep := func(text string) {
		if len(text) > room || known.have(text) {
			return
		}
		room -= len(text) + 3
		missing = append(missing, text)
		known = append(known, readLines(text)...)
	}
	for i := len(p.messages) - 1; i >= 0; i-- {
		if p.turns[i] >= s.Upto {
			continue
		}
		blocks := p.messages[i].Blocks
		if i == p.first { // it stays, but for the summary before
			blocks = blocks[min(len(blocks), len(p.open.First.Blocks)):]
		}
		for _, b := range slices.Backward(blocks) {
			for _, text := range worth(b) {
				keep(text)
			}
		}
	}
	return missing
}

// worth are the sentences, paths and hashes of a block that should outlive it.
func worth(b Block) (list []string) {
	switch b.Kind {
	case ToolUse:
		var input any
		if json.Unmarshal(b.Input, &input) == nil {
			list = appendPaths(list, input)
		}
	case Text, ToolResult:
		for _, sentence := range aSentence.FindAllString(b.Text, -1) {
			sentence = strings.TrimSpace(strings.TrimLeft(sentence, "-*• \t")) // of a list, too, as that of the summary before
			if labelled.MatchString(sentence) || b.Kind == Text && states.MatchString(sentence) {
				list = append(list, grapheme.Cut(sentence, mostSentence))
			}
		}
		if b.Kind == Text {
			for _, path := range aPath.FindAllString(b.Text, -1) {
				list = append(list, strings.TrimRight(path, ".")) // of the sentence
			}
		}
		list = append(list, aHash.FindAllString(b.Text, -1)...)
	}
	return list
}

// appendPaths finds the paths among the strings of an input.
func appendPaths(list []string, v any) []string {
	switch v := v.(type) {
	case string:
		if len(v) < mostSentence && !strings.ContainsAny(v, "\n ") && strings.ContainsAny(v, "/\\.") {
			list = append(list, v)
		}
	case []any:
		for _, one := range v {
			list = appendPaths(list, one)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = appendPaths(list, v[key])
		}
	}
	return list
}

// lines are those of a summary, to be looked through.
type lines []line

type line struct {
	text  string
	words map[string]bool
}

func readLines(text string) (all lines) {
	for one := range strings.Lines(strings.ToLower(text)) {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, line{one, wordsOf(one)})
		}
	}
	return all
}

// have says that a line has a text: word for word, or all of its words that tell something. Most of them would not do: what is
// said of one queue is nearly what is said of the next.
func (ls lines) have(text string) bool {
	lower := strings.ToLower(text)
	words := wordsOf(lower)
	return slices.ContainsFunc(ls, func(l line) bool {
		if strings.Contains(l.text, lower) {
			return true
		}
		for w := range words {
			if !l.words[w] {
				return false
			}
		}
		return len(words) >= 3
	})
}

// wordsOf are the words of a line in small letters that tell something: not the short ones, unless they have a digit, and not those that
// only say what kind of statement it is.
func wordsOf(lower string) map[string]bool {
	words := map[string]bool{}
	for _, w := range aWord.FindAllString(lower, -1) {
		if w = strings.Trim(w, "./-"); (len(w) > 3 || strings.ContainsAny(w, "0123456789")) && !states.MatchString(w) {
			words[w] = true
		}
	}
	return words
}

// Complete puts behind a summary, word for word, what it misses.
func Complete(text string, missing []string) string {
	if len(missing) == 0 {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n\nWord for word from the conversation:\n- " + strings.Join(missing, "\n- ")
}
