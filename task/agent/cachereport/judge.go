package cachereport

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/window"
)

// judge goes through the calls in time.
type judge struct {
	hasher
	models map[string]*model
	// newest is the last call of each conversation.
	newest map[string]*seen
	// following is when the next call of the same conversation was made, by the index of a call; 0 is unknown.
	following []int64
	agents    map[*window.Setup]string
}

// seen is a call that was judged.
type seen struct {
	*Call
	prefix
	agent string
	model *model
	// over is when it has ended at the latest; 0 is unknown.
	over int64
	// left is what the next call of the conversation can go on from.
	left goal
}

// goal is a beginning that is to be read: its units, and how many tokens it has, estimated unless they are sure.
type goal struct {
	units  int
	tokens int64
	sure   bool
}

func (j *judge) model(c *Call) *model {
	name := c.Setup.Provider + "\x00" + c.model()
	m := j.models[name]
	if m == nil {
		m = &model{entries: map[key]*entry{}}
		j.models[name] = m
	}
	return m
}

func following(calls []Call) []int64 {
	out := make([]int64, len(calls))
	next := map[string]int64{}
	for i := len(calls) - 1; i >= 0; i-- {
		if c := &calls[i]; !c.Compacts {
			out[i] = next[c.conversation()]
			next[c.conversation()] = c.Plan.At
		}
	}
	return out
}

// call judges one call, and takes down what it leaves in the cache.
func (j *judge) call(i int, c *Call, l *Line) {
	l.Verdict = None
	switch {
	case c.Compacts:
		l.Why, l.Because = ByCompactor, "the compactor was asked for a summary; its window is not in the journal"
		return
	case !c.Known:
		l.Why, l.Because = NotKnown, "its window can't be made again: another version of the program has written the journal"
		return
	}
	s := &seen{Call: c, prefix: j.prefix(c), agent: l.Agent, model: j.model(c), over: cmp.Or(j.following[i], c.Ended)}
	v := view{seen: s, before: j.newest[c.conversation()]}
	v.count()
	read := 0
	if c.State == Answered {
		read = v.judge(l)
	} else {
		l.Why, l.Because = NotAnswered, "its answer is not there yet"
		if c.State == Lost {
			l.Because = "its answer was lost"
		}
	}
	v.leave(read)
	j.newest[c.conversation()] = s
}

// view is a call with what is known before it.
type view struct {
	*seen
	// before is the call before it in the conversation, or nil.
	before *seen
	// tokens estimates those of each beginning, sure says that the provider has counted them.
	tokens []int64
	sure   []bool
}

// count puts the numbers of the provider to the beginnings, and in proportion to what is between them.
func (v *view) count() {
	n := len(v.keys)
	v.tokens, v.sure = make([]int64, n), make([]bool, n)
	last := v.last()
	for i, k := range v.keys {
		if e := v.model.entries[k]; e != nil && e.tokens > 0 {
			v.tokens[i], v.sure[i] = e.tokens, true
		}
	}
	if n > 0 && last.Context() > 0 {
		v.tokens[n-1], v.sure[n-1] = last.Context(), true
		if at := v.written(); at > 0 {
			v.tokens[at-1], v.sure[at-1] = last.Context()-max(last.Input, 0), true
		}
	}
	from, begins, size := 0, int64(0), 0 // behind the last counted beginning
	for i := range n {
		if !v.sure[i] {
			continue
		}
		for k := from; k < i; k++ {
			v.tokens[k] = begins + max(0, v.tokens[i]-begins)*int64(v.sizes[k]-size)/int64(v.sizes[i]-size)
		}
		from, begins, size = i+1, v.tokens[i], v.sizes[i]
	}
	for k := from; k < n; k++ { // nothing was counted behind it
		v.tokens[k] = begins + int64(v.sizes[k]-size)
	}
}

// written is up to where the provider says that it has cached, in units: to the last breakpoint, if it takes them and has
// told anything. 0 is unknown.
func (v *view) written() int {
	u := v.last()
	if v.Setup.Cache.Marks == 0 || len(v.marks) == 0 || u.CacheRead <= 0 && u.CacheWrite <= 0 && u.CacheWrite1h <= 0 {
		return 0
	}
	return v.marks[len(v.marks)-1].units
}

// counted are providers' units of tokens.
const counted = 128

// reads says whether the call has read as much.
func (v *view) reads(g goal) bool {
	if g.units == 0 {
		return true
	}
	slack := g.tokens / 4
	if g.sure {
		slack = g.tokens / 10
	}
	read := v.last().CacheRead
	return read > 0 && read >= g.tokens-slack-counted
}

// goal is a beginning of so many units.
func (v *view) goal(units int) goal {
	if units == 0 {
		return goal{}
	}
	return goal{units, v.tokens[units-1], v.sure[units-1]}
}

// judge says what the call should have read, in units, and what came of it.
func (v *view) judge(l *Line) (expected int) {
	rules := v.Setup.Cache
	read := v.last().CacheRead
	if rules == (window.Rules{}) && !v.model.caches {
		l.Verdict, l.Why, l.Because = None, NoCache, "the provider is not known to have a cache"
		return 0
	}
	shared, than := v.longest()
	e, stuck := v.find(shared)
	if e > 0 {
		l.Expected = v.tokens[e-1]
	}
	if v.before != nil && v.before.model == v.model {
		than = v.before
	} else if shared < v.fixed {
		than = v.alike()
	}
	want := v.wanted(shared, than, l)
	if than != nil {
		ref := refOf(than.Call)
		l.Than = &ref
	}
	other := v.before != nil && v.before.model != v.model
	switch {
	case than == nil && !other && e == 0 || read > 0 && want.units == 0:
		l.Verdict = First
		if read > 0 {
			l.Verdict, l.Because = Hit, "no earlier call of the run begins like it: another run has cached it"
		} else {
			l.Because = "no earlier call of the run begins like it"
		}
		return e
	case v.reads(want):
		l.Verdict = Hit
		return e
	}
	l.Verdict = Miss
	if read > 0 {
		l.Verdict = Partial
	}
	native := v.edited()
	switch {
	case native != "" && stuck.why != Expired:
		l.Why, l.Because = Rewrite, native
	case e > 0 && !v.reads(v.goal(e)):
		l.Why, l.Because = NotKept, fmt.Sprintf("about %s tokens were there to be read: the provider has dropped them, or has asked a machine that does not have them",
			number(l.Expected))
	case stuck.why != "":
		l.Why, l.Because = stuck.why, stuck.because
	case other && want.units > shared:
		l.Why, l.Because = OtherModel, fmt.Sprintf("the call before went to %s, and each model has a cache of its own", v.before.Call.model())
	case v.small(want):
		l.Why, l.Because = BelowMinimum, fmt.Sprintf("what it could share has about %s tokens, and less than %s are not cached", number(want.tokens), number(int64(rules.Minimum)))
	case want.units > shared && v.Plan.Rewrites():
		l.Why, l.Because = Rewrite, rewritten(v.Plan)
	case want.units > shared && l.Difference != nil:
		l.Why, l.Because = Differs, l.Difference.String()
	case than != nil && rules.Marks > 0 && len(than.marks) >= rules.Marks:
		l.Why, l.Because = TooFew, fmt.Sprintf("a call may have %s, and all stand before the end of what it shares with the earlier one", breakpoints(rules.Marks))
	default:
		l.Why, l.Because = TooFew, "no breakpoint stands at the end of what it shares with the earlier one"
	}
	return e
}

func breakpoints(n int) string {
	if n == 1 {
		return "1 breakpoint"
	}
	return fmt.Sprintf("%d breakpoints", n)
}

func number(n int64) string { return cairn.Tokens.Format(n) }

// mostAgents bounds how many agents are looked at for one that begins nearly like a conversation.
const mostAgents = 32

// alike is the newest call of an agent whose conversations should begin like this one.
func (v *view) alike() *seen {
	for i, s := range slices.Backward(v.model.latest) {
		if alike(s.Setup, v.Setup) {
			return s
		}
		if len(v.model.latest)-i == mostAgents {
			break
		}
	}
	return nil
}

// small says that a beginning is too short for the provider, or for the planner, which has only an estimate.
func (v *view) small(g goal) bool {
	least := int64(v.Setup.Cache.Minimum)
	return g.units > 0 && (g.tokens < least || int64(v.sizes[g.units-1]) < least && len(v.marks) < v.Setup.Cache.Marks)
}

// edited says what the provider has done to the window since the call before; "" is nothing.
func (v *view) edited() string {
	results, tokens := v.Edited.Results, number(v.Edited.Tokens)
	switch {
	case v.Summary != nil:
		return "the provider has put a summary in the place of what was said before"
	case v.before != nil && v.before.Summary != nil && v.before.model == v.model:
		return "the provider has put a summary in the place of what was said before, and this call is the first that could cache it"
	case results == 1:
		return "the provider has cleared an old result of " + tokens + " tokens"
	case results > 1:
		return fmt.Sprintf("the provider has cleared %d old results of %s tokens", results, tokens)
	case v.Edited.Tokens > 0:
		return "the provider has cleared " + tokens + " tokens"
	}
	return ""
}

func rewritten(p window.Plan) string {
	if p.Compact != nil {
		return fmt.Sprintf("what was said before turn %d was replaced by a summary", p.Compact.Upto)
	}
	if len(p.Clear) == 1 {
		return "an old result was cleared"
	}
	return fmt.Sprintf("%d old results were cleared", len(p.Clear))
}

// longest is the longest beginning that an earlier call has too, and the newest such call.
func (v *view) longest() (units int, by *seen) {
	for k := len(v.keys); k > 0; k-- {
		if e := v.model.entries[v.keys[k-1]]; e != nil {
			return k, e.by
		}
	}
	return 0, nil
}

// wanted is what the call could have read if all had gone well: in a conversation all that was there before; in its first call
// what its agent's conversations have in common, and else what it happens to share.
func (v *view) wanted(shared int, than *seen, l *Line) goal {
	if v.before != nil {
		want := v.before.left
		want.units = min(want.units, len(v.keys))
		if all := v.last().Context(); all > 0 {
			want.tokens = min(want.tokens, all) // a rewritten window may be shorter
		}
		if shared >= want.units && !want.sure {
			return v.goal(want.units)
		}
		if than == v.before && shared < want.units {
			l.Difference = Differ(than.View, v.View)
		}
		return want
	}
	if than == nil {
		return v.goal(v.cached(shared))
	}
	if l.Difference = Differ(than.View, v.View); l.Difference == nil {
		return v.goal(v.cached(shared))
	}
	switch l.Difference.Part {
	case window.PartTools, window.PartSystem, window.PartExamples:
		if shared < v.fixed {
			return v.goal(v.fixed)
		}
	case window.PartMemory:
		if end, same := v.behind(than); same {
			return v.goal(end)
		}
	}
	return v.goal(v.cached(shared))
}

// cached is the longest part of a beginning that was ever cached; all of it if none was.
func (v *view) cached(units int) int {
	for k := units; k > 0; k-- {
		if e := v.model.entries[v.keys[k-1]]; e != nil && e.cached {
			return k
		}
	}
	return units
}

// behind is where the first message ends, if it differs from that of another call by the memory alone.
func (v *view) behind(than *seen) (units int, same bool) {
	rest := func(s *seen) (keys []key, units int) {
		units = s.fixed
		for i, m := range s.View.Messages {
			first := false
			for b := range m.Blocks {
				part := s.View.Part(i, b)
				if first = first || part != window.PartHistory; part != window.PartMemory && part != window.PartHistory {
					keys = append(keys, unitOf(m.Blocks[b], 0).hash)
				}
			}
			if units += len(m.Blocks); first {
				break
			}
		}
		return keys, units
	}
	mine, units := rest(v.seen)
	other, _ := rest(than)
	if len(other) < len(mine) || units > len(v.keys) { // nothing is read any more of what stands before a summary
		return 0, false
	}
	for i := range mine {
		if mine[i] != other[i] {
			return 0, false
		}
	}
	return units, true
}

func span(millis int64) string {
	d := time.Duration(millis) * time.Millisecond
	if d > time.Second {
		d = d.Round(time.Second)
	}
	return d.String()
}
