package cachereport

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Verdict says how well a call has used the cache.
type Verdict string

// The verdicts.
const (
	// Hit has read all that could be expected.
	Hit Verdict = "hit"
	// Partial has read less than it could have, Miss nothing: Why says why.
	Partial Verdict = "partial"
	Miss    Verdict = "miss" // see Partial
	// First is a call that had nothing to read: no earlier one begins like it.
	First Verdict = "first"
	// None is of a call that has no answer, of which the window is not known, or whose provider has no cache.
	None Verdict = "none"
)

// Why is the reason of a verdict.
type Why string

// The reasons.
const (
	BelowMinimum Why = "below_minimum"
	Expired      Why = "expired"
	// Lookback is an entry that lies further before a breakpoint than is looked.
	Lookback Why = "lookback_exceeded"
	// TooFew is a shared prefix at whose end no breakpoint could stand.
	TooFew  Why = "too_few_breakpoints"
	Rewrite Why = "planned_rewrite"
	// Differs has a Difference.
	Differs Why = "differs"
	// Concurrent is an entry that an earlier call was writing at the time.
	Concurrent Why = "concurrent"
	// OtherModel is a conversation that has gone over to a model whose cache does not have it.
	OtherModel Why = "other_model"
	// NotKept is an entry that should have been there, and that the provider did not find.
	NotKept Why = "not_kept"
	// NoCache is a provider that states no rules, and of which no call has read or written anything. It, NotAnswered, NotKnown and
	// ByCompactor are why there is no verdict.
	NoCache     Why = "no_cache"
	NotAnswered Why = "not_answered"     // see NoCache
	NotKnown    Why = "window_not_known" // see NoCache
	ByCompactor Why = "compactor"        // see NoCache
)

// Totals sum up calls. Tokens are those that providers have reported.
type Totals struct {
	Calls    int   `json:"calls"`
	Read     int64 `json:"read"`
	Written  int64 `json:"written"`
	Uncached int64 `json:"uncached"`
	// Saved is how much less was paid than without any cache, in micro-dollars; negative where writing has cost more than
	// reading has saved. Unpriced counts the calls that are left out, because their model has no price.
	Saved    int64 `json:"saved"`
	Unpriced int   `json:"unpriced,omitempty"`
	// Misses counts the calls that could have read more, by reason.
	Misses map[Why]int `json:"misses,omitempty"`
	// HitRate is Read out of all input, from 0 to 1; rounded to four digits.
	HitRate float64 `json:"hitRate"`
}

// Group is the sum of an agent or a node.
type Group struct {
	Name string `json:"name"`
	Totals
}

// Ref names a call.
type Ref struct {
	Path         string `json:"path"`
	Conversation string `json:"conversation"`
	Call         int    `json:"call"`
}

// Line is what is said of a call.
type Line struct {
	Ref
	Attempt int `json:"attempt"`
	// At is when it was planned, in milliseconds since 1970.
	At    int64  `json:"at"`
	Agent string `json:"agent"`
	Model string `json:"model,omitempty"`
	State State  `json:"state"`
	// Compacts says that it is a call of the compactor, before the one with that number.
	Compacts bool `json:"compacts,omitempty"`
	// Read, Written and Uncached are its input, in tokens. Saved is in micro-dollars.
	Read     int64 `json:"read"`
	Written  int64 `json:"written"`
	Uncached int64 `json:"uncached"`
	Saved    int64 `json:"saved"`
	Unpriced int   `json:"unpriced,omitempty"`
	// Expected is what it should have read, by the rules of the provider; an estimate.
	Expected int64   `json:"expected"`
	Verdict  Verdict `json:"verdict"`
	Why      Why     `json:"why,omitempty"`
	// Because is the reason in words.
	Because string `json:"because,omitempty"`
	// Than is the call that it is compared with, Difference where it parts from that one, if it is not just longer.
	Than       *Ref        `json:"than,omitempty"`
	Difference *Difference `json:"difference,omitempty"`
}

// Report is what a run has made of the caches.
type Report struct {
	Total Totals `json:"total"`
	// Agents are told apart by model, system text, examples and tools; Nodes by path.
	Agents []Group `json:"agents"`
	Nodes  []Group `json:"nodes"`
	Calls  []Line  `json:"calls"`
}

// Of looks at the calls of a run. Price is what a call has cost, in micro-dollars, and whether its model has a price: Models.Cost of
// package aspects. Calls come in the order in which they were made.
//
// A call has read what was expected if at most a tenth is missing, or a quarter where the number is an estimate, and 128
// tokens, which some providers count in. One that has read nothing where there was something has missed it in any case.
func Of(calls []Call, price func(cairn.Usage) (microDollars int64, ok bool)) Report {
	calls = slices.Clone(calls)
	inTime(calls)
	j := judge{
		hasher:    hasher{map[*window.Block]unit{}, map[*window.Setup][]unit{}},
		models:    map[string]*model{},
		newest:    map[string]*seen{},
		following: following(calls),
		agents:    map[*window.Setup]string{},
	}
	for i := range calls {
		if u := calls[i].last(); u.CacheRead > 0 || u.CacheWrite > 0 || u.CacheWrite1h > 0 {
			j.model(&calls[i]).caches = true
		}
	}
	var r Report
	var agents, nodes groups
	for i := range calls {
		c := &calls[i]
		l := Line{Ref: refOf(c), Attempt: c.Attempt, At: c.Plan.At, Agent: j.agent(c), Model: c.model(), State: c.State, Compacts: c.Compacts}
		for _, u := range c.Usage {
			l.count(u, price)
		}
		j.call(i, c, &l)
		r.Calls = append(r.Calls, l)
		r.Total.add(l)
		agents.of(l.Agent).add(l)
		nodes.of(l.Path).add(l)
	}
	r.Total.rate()
	r.Agents, r.Nodes = agents.rated(), nodes.rated()
	return r
}

func refOf(c *Call) Ref { return Ref{c.Path, c.Conversation, c.N} }

// count adds what the provider has reported.
func (l *Line) count(u cairn.Usage, price func(cairn.Usage) (int64, bool)) {
	minutes, hour := u.Writes()
	l.Read, l.Written, l.Uncached = sum(l.Read, u.CacheRead), sum(l.Written, minutes, hour), sum(l.Uncached, u.Input)
	paid, priced := price(u)
	if !priced {
		l.Unpriced++
		return
	}
	without, _ := price(cairn.Usage{Model: u.Model, Input: u.Context(), Output: u.Output})
	l.Saved += without - paid
}

func (t *Totals) add(l Line) {
	t.Calls++
	t.Read, t.Written, t.Uncached = sum(t.Read, l.Read), sum(t.Written, l.Written), sum(t.Uncached, l.Uncached)
	t.Saved += l.Saved
	t.Unpriced += l.Unpriced
	if l.Verdict == Miss || l.Verdict == Partial {
		if t.Misses == nil {
			t.Misses = map[Why]int{}
		}
		t.Misses[l.Why]++
	}
}

func (t *Totals) rate() {
	if all := sum(t.Read, t.Written, t.Uncached); all > 0 {
		t.HitRate = math.Round(float64(t.Read)/float64(all)*1e4) / 1e4
	}
}

// sum adds amounts that are not negative, up to the greatest number.
func sum(amounts ...int64) (all int64) {
	for _, n := range amounts {
		all += min(max(n, 0), math.MaxInt64-all)
	}
	return all
}

// groups are in the order in which they were met.
type groups struct {
	list  []*Group
	names map[string]*Group
}

func (g *groups) of(name string) *Group {
	if g.names == nil {
		g.names = map[string]*Group{}
	}
	one := g.names[name]
	if one == nil {
		one = &Group{Name: name}
		g.names[name] = one
		g.list = append(g.list, one)
	}
	return one
}

func (g *groups) rated() (list []Group) {
	for _, one := range g.list {
		one.rate()
		list = append(list, *one)
	}
	return list
}

// agent names who has made a call: the model, and a hash of what all of its conversations begin with.
func (j *judge) agent(c *Call) string {
	name, known := j.agents[c.Setup]
	if !known {
		raw, err := schema.Encode(struct {
			System   string
			Examples []window.Example
			Tools    []window.Tool
		}{c.Setup.System, c.Setup.Examples, c.Setup.Tools})
		if err != nil {
			raw = []byte(err.Error())
		}
		hash := sha256.Sum256(raw)
		name = hex.EncodeToString(hash[:4])
		if c.Setup.Model != "" {
			name = c.Setup.Model + " " + name
		}
		j.agents[c.Setup] = name
	}
	return name
}
