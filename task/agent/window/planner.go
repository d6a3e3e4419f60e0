package window

import (
	"cmp"
	"slices"

	"github.com/cairnrun/cairn"
)

// Opening is how a conversation begins: all that its first window is made of.
type Opening struct {
	Setup Setup `json:"setup"`
	// Before is what was said before: in a thread, or by the task that this one is forked from.
	Before []Message `json:"before,omitempty"`
	First  Message   `json:"first"`
	// Parts says what the blocks of First are.
	Parts []Part `json:"parts,omitempty"`
	// Within names the call of a tool that the conversation is part of; "" is the task's own.
	Within string `json:"within,omitempty"`
}

// Planner follows a conversation and plans its windows. It belongs to one goroutine.
type Planner struct {
	open Opening
	// messages stand in the window; turns says of each which turn it belongs to, 0 before the first.
	messages []Message
	turns    []int
	first    int // where the first message is
	results  []result
	called   map[string]int
	// asked is the newest whole result of a tool and input.
	asked map[string]int
	turn  int
	// tokens is what the next window has, as far as it is known.
	tokens int
	long   bool
	at     int64
	// marked is the last block that the call before has marked, rewritten the first message that the coming call changes.
	marked    Mark
	rewritten int
	marks     []Mark
	hashes    hashes
	repeats   int
}

// result is an answer of a tool.
type result struct {
	turn, index    int
	message, block int
	name           string
	call           int    // counts those of the tool
	input, text    string // what was asked, canonical, and what was answered
	gain           int    // tokens that are free when it is cleared
	failed         bool
	gone           bool // a pointer, cleared, or compacted
	same           int  // of a pointer: which result it is to; else none
}

// none is no result.
const none = -1

func (r result) question() string { return r.name + "\x00" + r.input }

// Place names a result: the Result-th of a turn's, both from 1.
type Place struct {
	Turn   int `json:"turn"`
	Result int `json:"result"`
}

// Plan is what is decided before a call. It is stored with the call.
type Plan struct {
	// At is when, in milliseconds since 1970.
	At int64 `json:"at,omitempty"`
	// Tokens is how many the window has, after what is taken out; an estimate.
	Tokens int `json:"tokens,omitempty"`
	// Clear are results that are taken out from this call on, Compact what takes the place of the turns before its Upto.
	Clear   []Place  `json:"clear,omitempty"`
	Compact *Summary `json:"compact,omitempty"`
	// Recite is said at the end of this window, and not kept.
	Recite string `json:"recite,omitempty"`
	// Half says that the window is over half full.
	Half bool `json:"half,omitempty"`
	// Long says that cache entries are asked to live long.
	Long bool `json:"long,omitempty"`
	// Allowed, if not nil, are the only tools that may be called.
	Allowed []string `json:"allowed,omitempty"`
	// Hash is that of the View: whoever makes the window again can tell whether it is the same.
	Hash string `json:"hash,omitempty"`
}

// Rewrites says that the call does not just append to the window before.
func (p Plan) Rewrites() bool { return len(p.Clear) > 0 || p.Compact != nil }

// Open begins a conversation.
func Open(o Opening) *Planner {
	p := &Planner{open: o, called: map[string]int{}, asked: map[string]int{}, rewritten: -1, long: o.Setup.Long && o.Setup.Cache.Long > 0}
	for _, m := range o.Before {
		p.append(m, 0)
	}
	p.first = len(p.messages)
	p.marked = p.before(p.first) // where the conversation that this one is forked from was cached
	p.append(o.First, 0)
	p.tokens += o.Setup.fixed()
	return p
}

func (p *Planner) append(m Message, turn int) {
	p.messages, p.turns = append(p.messages, m), append(p.turns, turn)
	p.tokens += tokensOf(m.Blocks)
}

// Opening is what the conversation began with.
func (p *Planner) Opening() Opening { return p.open }

// Now is what a plan depends on besides the conversation.
type Now struct {
	// At is the time, in milliseconds since 1970.
	At int64
	// Todo is the list that is repeated, "" for none or one that was just told. Vary is an optional sentence for variety.
	Todo, Vary string
	Allowed    []string
}

// Decide plans the next call. It changes nothing: Apply does. Where the plan has a Compact it is a wish: give it a Text, or
// take it out.
func (p *Planner) Decide(now Now) Plan {
	s := p.open.Setup
	plan := Plan{At: now.At, Tokens: p.tokens, Allowed: now.Allowed}
	plan.Long = p.long || s.Cache.Long > 0 && p.at > 0 && now.At-p.at > s.Cache.Life.Milliseconds()
	if r := s.Reduction.of(s.Size); !s.Reduces {
		if plan.Tokens > r.Trigger && r.Trigger > 0 {
			var freed int
			if plan.Clear, freed = p.clearable(r); freed > 0 {
				plan.Tokens -= freed
			}
		}
		if r.Compact > 0 && plan.Tokens > r.Compact {
			plan.Compact = p.wish(r, plan.Tokens)
		}
	}
	plan.Half = s.Size > 0 && 2*plan.Tokens > s.Size
	plan.Recite = recitation(now, plan.Half, s.Remind)
	return plan
}

// Apply does what a plan says. View then makes its window.
func (p *Planner) Apply(plan Plan) {
	p.turn++
	p.rewritten = -1
	if plan.Compact != nil {
		p.compact(*plan.Compact)
	}
	if len(plan.Clear) > 0 { // what was handed out before stays as it was
		p.messages = slices.Clone(p.messages)
	}
	for _, place := range plan.Clear {
		p.clear(place)
	}
	p.long, p.at = plan.Long, plan.At
	p.marks = p.place()
}

// Said adds what the model has answered. Used is what the call used: its context and output are what the next window begins
// with, better known than by any estimate.
func (p *Planner) Said(blocks []Block, used []cairn.Usage) {
	if len(blocks) > 0 {
		p.append(Message{Role: Assistant, Blocks: blocks}, p.turn)
	}
	if n := len(used); n > 0 {
		if known := int(used[n-1].Context() + used[n-1].Output); used[n-1].Context() > 0 {
			p.tokens = known
		}
	}
}

// Told adds a message of the user: results of tools, in the order of the calls, or anything else.
func (p *Planner) Told(blocks []Block) {
	if len(blocks) == 0 {
		return
	}
	asked := map[string]string{}
	if n := len(p.messages); n > 0 {
		for _, b := range Uses(p.messages[n-1].Blocks) {
			asked[b.ID] = canonical(b.Input)
		}
	}
	blocks = slices.Clone(blocks)
	for i, b := range blocks {
		if b.Kind != ToolResult {
			continue
		}
		p.called[b.Name]++
		r := result{turn: p.turn, index: i + 1, message: len(p.messages), block: i, name: b.Name, call: p.called[b.Name], input: asked[b.ID], text: b.Text, failed: b.Error, same: none}
		r.gain = Tokens(len(r.text)) - Tokens(len(p.reference(r.text)))
		if at, pointer := p.pointer(r); at != none {
			blocks[i].Text, r.gone, r.same = pointer, true, at
			p.repeats++
		} else {
			p.asked[r.question()] = len(p.results)
		}
		p.results = append(p.results, r)
	}
	p.append(Message{Role: User, Blocks: blocks}, p.turn)
}

// Repeats is how many results were pointers.
func (p *Planner) Repeats() int { return p.repeats }

// Messages are those in the window, without what is recited.
func (p *Planner) Messages() []Message { return slices.Clip(p.messages) }

// Result is the whole text of a result, also of one that is no longer in the window.
func (p *Planner) Result(at Place) (name, text string, found bool) {
	if i := p.find(at); i >= 0 {
		return p.results[i].name, p.results[i].text, true
	}
	return "", "", false
}

func (p *Planner) find(at Place) int {
	i, found := slices.BinarySearchFunc(p.results, at, func(r result, at Place) int {
		return cmp.Or(r.turn-at.Turn, r.index-at.Result)
	})
	if !found {
		return -1
	}
	return i
}

// replace puts another text in the place of a block. The list of messages must be the planner's own.
func (p *Planner) replace(message, block int, text string) {
	m := p.messages[message]
	before := m.Blocks[block].tokens()
	m.Blocks = slices.Clone(m.Blocks)
	m.Blocks[block].Text = text
	p.messages[message] = m
	p.tokens = max(0, p.tokens-before+m.Blocks[block].tokens())
	p.changed(message)
}

// changed takes down that a message is no longer what the call before has seen.
func (p *Planner) changed(message int) {
	if p.rewritten < 0 || message < p.rewritten {
		p.rewritten = message
	}
	p.hashes.forget(message)
}
