package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// script is what the answers of an Agent depend on, as data. Usage and delays are not among it.
type script struct {
	Replies []saidReply
	Rules   []saidRule
	Auto    bool
}

type saidReply struct {
	Text  string
	Value json.RawMessage `json:",omitempty"`
	Err   string          `json:",omitempty"`
}

type saidRule struct {
	Path, Contains, Matches string
	When                    bool
	Replies                 []saidReply
	By                      Order
	Repeat                  bool
}

// Identity is the script, if it is only data, as a hash. With functions, or with a Value that has no JSON form, there is
// none: "". Nor has an Agent without a script.
func (a *Agent) Identity() string {
	if a.Answer != nil || len(a.Replies) == 0 && len(a.Rules) == 0 && !a.Auto {
		return ""
	}
	for _, r := range a.Rules {
		if r.When != nil {
			return ""
		}
	}
	a.once.Do(a.describe)
	if a.who == nameless {
		return ""
	}
	return "scripted/1 " + a.who
}

// nameless stands for a script whose values have no JSON form.
const nameless = "nameless"

// describe makes the hash of the script, functions left out.
func (a *Agent) describe() {
	replies, ok := sayReplies(a.Replies)
	s := script{Replies: replies, Auto: a.Auto}
	for _, r := range a.Rules {
		replies, whole := sayReplies(r.Replies)
		ok = ok && whole
		s.Rules = append(s.Rules, saidRule{r.Path, r.Contains, pattern(r.Matches), r.When != nil, replies, r.By, r.Repeat})
	}
	if a.who = nameless; ok {
		a.who = digest(s)
	}
}

func sayReplies(replies []Reply) (said []saidReply, ok bool) {
	for _, r := range replies {
		one := saidReply{Text: r.Text}
		if r.Err != nil {
			one.Err = r.Err.Error()
		}
		if r.Value != nil {
			raw, err := schema.Encode(r.Value)
			if err != nil {
				return nil, false
			}
			one.Value = raw
		}
		said = append(said, one)
	}
	return said, true
}

func pattern(r *regexp.Regexp) string {
	if r == nil {
		return ""
	}
	return r.String()
}

// digest is 16 hex digits of what has a JSON form.
func digest(v any) string {
	raw, err := schema.Encode(v)
	if err != nil { // of text and checked JSON: it can't fail
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// modelScript is what the turns of a Model depend on.
type modelScript struct {
	Name, Provider string
	Size           int
	Native, Auto   bool
	Variant        string
	Rules          []saidTurns
}

type saidTurns struct {
	Contains, Result, Tool string
	When, Repeat           bool
	Turns                  []saidTurn
}

type saidTurn struct {
	Blocks []window.Block
	Stop   loop.Stop
	Why    string
	Errs   []string
}

// identity is the script as a hash, "" if it has functions that no Variant stands for.
func (m *Model) identity() string {
	s := modelScript{Name: m.name(), Provider: m.provider(), Size: m.Size, Native: m.Native, Auto: m.Auto, Variant: m.Variant}
	functions := m.Answer != nil
	for _, r := range append([]TurnRule{{Turns: m.Turns}}, m.Rules...) {
		functions = functions || r.When != nil
		said := saidTurns{Contains: r.Contains, Result: r.Result, Tool: r.Tool, When: r.When != nil, Repeat: r.Repeat}
		for _, t := range r.Turns {
			blocks, err := t.blocks(0, "")
			if err != nil {
				return ""
			}
			one := saidTurn{Blocks: blocks, Stop: t.Stop, Why: t.Why}
			for _, err := range append(slices.Clone(t.Fails), t.Err) {
				if err != nil {
					one.Errs = append(one.Errs, err.Error())
				}
			}
			said.Turns = append(said.Turns, one)
		}
		s.Rules = append(s.Rules, said)
	}
	if functions && m.Variant == "" {
		return ""
	}
	return "scripted/1 " + digest(s)
}
