package window

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Defaults of Reduction, for models with a large window; for smaller ones they shrink with it.
const (
	DefaultTrigger = 100_000
	DefaultFree    = 20_000
	DefaultKeep    = 3
	DefaultCompact = 150_000
)

// Reduction says when a window is made smaller, in tokens of input. The zero value has the defaults.
type Reduction struct {
	// Trigger is from where on old results of tools are cleared: 0 is DefaultTrigger, or half of the model's window if that is
	// less; negative is never.
	Trigger int `json:"trigger,omitempty"`
	// Free is the least that a batch must free. 0 is DefaultFree, or a fifth of Trigger if that is less.
	Free int `json:"free,omitempty"`
	// Keep is how many of the newest results stay. 0 is DefaultKeep, negative none.
	Keep int `json:"keep,omitempty"`
	// KeepTools are tools whose results always stay.
	KeepTools []string `json:"keepTools,omitempty"`
	// Compact is from where on a summary takes the place of all but the newest turns, if there is a compactor. 0 is
	// DefaultCompact, or three quarters of the model's window if that is less; negative is never.
	Compact int `json:"compact,omitempty"`
}

// of is the reduction with its defaults, for a window of a size. What is off is 0.
func (r Reduction) of(size int) Reduction {
	least := func(n, share int) int {
		if size > 0 && share < n {
			return share
		}
		return n
	}
	r.Trigger = or(r.Trigger, least(DefaultTrigger, size/2))
	r.Compact = or(r.Compact, least(DefaultCompact, size/4*3))
	r.Keep = or(r.Keep, DefaultKeep)
	r.Free = or(r.Free, min(DefaultFree, r.Trigger/5))
	return r
}

// or is n, normal for 0, and 0 for a negative n.
func or(n, normal int) int {
	switch {
	case n == 0:
		return normal
	case n < 0:
		return 0
	}
	return n
}

// clearable are the results that can go, if together they free enough, and how much that is.
func (p *Planner) clearable(r Reduction) (places []Place, freed int) {
	newest := p.newest(r)
	pointed := map[int]bool{}
	for _, one := range p.results[newest:] {
		pointed[one.same] = true
	}
	for i := range p.results[:newest] {
		one := &p.results[i]
		if one.gone || one.failed || one.gain <= 0 || slices.Contains(r.KeepTools, one.name) {
			continue
		}
		places = append(places, Place{one.turn, one.index})
		if !pointed[i] { // or else its text will stand in the place of the pointer
			freed += one.gain
		}
	}
	if freed < r.Free {
		return nil, 0
	}
	return places, freed
}

// newest is the first of the results that stay whatever happens.
func (p *Planner) newest(r Reduction) int { return max(0, len(p.results)-r.Keep) }

// clear takes a result out. If one of the newest is a pointer to it, that one says it from now on.
func (p *Planner) clear(at Place) {
	i := p.find(at)
	if i < 0 || p.results[i].gone {
		return
	}
	r := &p.results[i]
	r.gone = true
	p.replace(r.message, r.block, p.reference(r.text))
	for j := p.newest(p.open.Setup.Reduction.of(p.open.Setup.Size)); j < len(p.results); j++ {
		if p.results[j].same == i {
			p.restore(j)
		}
	}
}

// restore puts a whole result in the place of a pointer.
func (p *Planner) restore(i int) {
	r := &p.results[i]
	r.gone, r.same = false, none
	p.asked[r.question()] = i
	p.replace(r.message, r.block, r.text)
}

// reference stands in the place of a result. Where there are artifacts the text can be had by the hash.
func (p *Planner) reference(text string) string {
	if !p.open.Setup.Keeps {
		return fmt.Sprintf("<%s bytes=\"%d\">This result was taken out to save room. Make the call again if it is needed.</%s>", clearedTag, len(text), clearedTag)
	}
	hash, size := "", int64(len(text))
	if whole, aside := Aside(text); aside {
		hash, size = whole.Hash, whole.Size
	} else {
		hash = Hash(text)
	}
	return fmt.Sprintf("<%s artifact=%q bytes=\"%d\">This result was taken out to save room. Read it with artifact_read if it is needed.</%s>",
		clearedTag, hash, size, clearedTag)
}

// Aside is the artifact that a result stands for which was put aside when it came (tool.Offload). Whoever takes such a result out has
// to name that artifact: one of the reference would lead nowhere but to the next reference.
func Aside(text string) (whole cairn.Artifact, aside bool) {
	if !strings.HasPrefix(text, `{"artifact":{`) {
		return whole, false
	}
	var ref struct {
		Artifact cairn.Artifact `json:"artifact"`
		Head     *string        `json:"head"`
		Note     *string        `json:"note"`
	}
	if json.Unmarshal([]byte(text), &ref) != nil || ref.Head == nil || ref.Note == nil || len(ref.Artifact.Hash) != hex.EncodedLen(sha256.Size) {
		return whole, false
	}
	return ref.Artifact, true
}

// Hash is the address of a text as an artifact: its SHA-256, in hex.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// pointer is what is told in the place of a result that stands in the window already, and which one that is; none if it does
// not, or is shorter.
func (p *Planner) pointer(r result) (same int, text string) {
	at := slices.IndexFunc(p.open.Setup.Tools, func(t Tool) bool { return t.Name == r.name })
	if r.failed || at < 0 || !p.open.Setup.Tools[at].Reads || r.name == "todo" { // whose answers change what is recited
		return none, ""
	}
	i, known := p.asked[r.question()]
	if !known || p.results[i].gone || p.results[i].failed || p.results[i].text != r.text {
		return none, ""
	}
	text = fmt.Sprintf("Same as the result of call %d of %s above, which had the same input. Nothing has changed since.", p.results[i].call, r.name)
	if len(text) >= len(r.text) {
		return none, ""
	}
	return i, text
}

// canonical makes inputs that are equal as JSON equal.
func canonical(input json.RawMessage) string {
	if out, err := schema.Canonical(input); err == nil {
		return string(out)
	}
	return string(input)
}

// recitation is what is said at the end of a window.
func recitation(now Now, half bool, remind string) string {
	var parts []string
	if now.Todo != "" {
		parts = append(parts, "<"+todoTag+">\n"+strings.TrimRight(now.Todo, "\n")+"\n</"+todoTag+">")
	}
	if half && remind != "" {
		parts = append(parts, "<"+remindTag+">\n"+remind+"\n</"+remindTag+">")
	}
	if now.Vary != "" {
		parts = append(parts, now.Vary)
	}
	return strings.Join(parts, "\n\n")
}
