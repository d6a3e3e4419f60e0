package aspects

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// Free is the price of what costs nothing although the 0 of its field would mean a share of Input.
const Free = -1

// Model is what a model's tokens cost and how much context it takes.
//
// Prices are micro-dollars per million tokens, as exact integers: $3 per million is 3_000_000. That a model's Input or
// Output is 0 means that it costs nothing, as of a model on one's own machine.
type Model struct {
	Input  int64 `json:"input,omitempty"`
	Output int64 `json:"output,omitempty"`
	// CacheRead is the price of input that the provider had cached. 0 is a tenth of Input; Free is nothing.
	CacheRead int64 `json:"cacheRead,omitempty"`
	// CacheWrite is the price of input that the provider caches for its usual time, some minutes. 0 is 1.25 × Input;
	// Free is nothing.
	CacheWrite int64 `json:"cacheWrite,omitempty"`
	// CacheWrite1h is the price of input that the provider caches for an hour or longer. 0 is 2 × Input; Free is nothing.
	CacheWrite1h int64 `json:"cacheWrite1h,omitempty"`
	// Window is how many tokens of context the model takes; 0 is unknown.
	Window int64 `json:"window,omitempty"`
	// Long has the prices of long prompts; nil if they are the same.
	Long *Long `json:"long,omitempty"`
}

// Long is what a call costs, its output and all of its input, whose Context is more than Above tokens. The prices are
// those of a Model: a cache price of 0 is a share of this Input.
type Long struct {
	Above        int64 `json:"above"`
	Input        int64 `json:"input,omitempty"`
	Output       int64 `json:"output,omitempty"`
	CacheRead    int64 `json:"cacheRead,omitempty"`
	CacheWrite   int64 `json:"cacheWrite,omitempty"`
	CacheWrite1h int64 `json:"cacheWrite1h,omitempty"`
}

// Models is a price table, by the model's name.
type Models map[string]Model

// version matches what may follow a listed name and still be the same model: a date, a revision, "latest" or "preview".
var version = regexp.MustCompile(`^(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3,4}|v\d+|latest|default|(?:preview|exp)(?:-\d{2}-(?:\d{4}|\d{2}))?))*(?::\d+)?(?:\[1m\])?$`)

// Find looks a model up by the name that its provider reports. In this order, the first that is listed:
//
//   - the name itself;
//   - the longest listed name that it is a version of: claude-sonnet-4-5-20250929, claude-sonnet-4-5@20250929,
//     gpt-5-2025-08-07, gemini-2.5-pro-preview-05-06, claude-opus-4-5-20251101-v1:0, claude-opus-4-6[1m];
//   - the same for the name without where it is served: openai/gpt-5, models/gemini-2.5-pro,
//     us.anthropic.claude-haiku-4-5-20251001-v1:0.
//
// Another variant is another model: gpt-5-mini is no version of gpt-5 and claude-opus-4-9 none of claude-opus-4. They
// have lines of their own or no price, because a wrong price is worse than none. Who serves a model at another price
// than its maker, as some regional endpoints do, gets a line under the full name.
func (ms Models) Find(model string) (Model, bool) {
	names := []string{model}
	if i := strings.LastIndexByte(model, '/'); i >= 0 {
		names = append(names, model[i+1:])
	}
	if _, after, ok := strings.Cut(names[len(names)-1], "anthropic."); ok {
		names = append(names, after)
	}
	for _, name := range names {
		if m, ok := ms[name]; ok {
			return m, true
		}
		longest := ""
		for listed := range ms {
			if rest, ok := strings.CutPrefix(name, listed); ok && len(listed) > len(longest) && version.MatchString(rest) {
				longest = listed
			}
		}
		if longest != "" {
			return ms[longest], true
		}
	}
	return Model{}, false
}

// Cost is what one model call cost, in micro-dollars; false if the model has no price. All tokens are counted before
// anything is rounded, half a micro-dollar is rounded up, and a cost that no int64 holds is the greatest one.
// Negative tokens count as none.
func (ms Models) Cost(u cairn.Usage) (microDollars int64, ok bool) {
	m, ok := ms.Find(u.Model)
	if !ok {
		return 0, false
	}
	if m.Long != nil && u.Context() > m.Long.Above {
		m = m.Long.model()
	}
	minutes, hour := u.Writes()
	var sum wide
	sum.add(u.Input, share(m.Input, m.Input, 0))
	sum.add(u.Output, share(m.Output, m.Output, 0))
	sum.add(u.CacheRead, share(m.CacheRead, m.Input, twentieths/10))
	sum.add(minutes, share(m.CacheWrite, m.Input, twentieths*5/4))
	sum.add(hour, share(m.CacheWrite1h, m.Input, twentieths*2))
	return sum.round(1_000_000 * twentieths), true
}

// Validate finds what is wrong with the table, all of it at once.
func (ms Models) Validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(ms)) {
		m := ms[name]
		if name == "" {
			errs = append(errs, errors.New("a price without a model's name"))
		}
		wrong := func(field string, n int64) {
			errs = append(errs, fmt.Errorf("model %q: %s is %d", name, field, n))
		}
		prices := func(of string, m Model) {
			for _, p := range []struct {
				field string
				price int64
			}{{"Input", m.Input}, {"Output", m.Output}, {"CacheRead", m.CacheRead}, {"CacheWrite", m.CacheWrite}, {"CacheWrite1h", m.CacheWrite1h}} {
				if p.price < Free {
					wrong(of+p.field, p.price)
				}
			}
		}
		prices("", m)
		if m.Window < 0 {
			wrong("Window", m.Window)
		}
		if m.Long != nil {
			prices("Long.", m.Long.model())
			if m.Long.Above <= 0 {
				wrong("Long.Above", m.Long.Above)
			}
		}
	}
	return errors.Join(errs...)
}

func (l *Long) model() Model {
	return Model{Input: l.Input, Output: l.Output, CacheRead: l.CacheRead, CacheWrite: l.CacheWrite, CacheWrite1h: l.CacheWrite1h}
}

// twentieths is the least number of parts of a price in which a tenth and five quarters are whole.
const twentieths = 20

// A rate is a price in twentieths, in two factors because their product may not fit.
type rate struct{ price, parts uint64 }

// share is the rate of a price that is parts of input when it is 0.
func share(price, input int64, parts uint64) rate {
	if price == 0 {
		return rate{uint64(max(input, 0)), parts}
	}
	return rate{uint64(max(price, 0)), twentieths}
}

// wide is a sum of 128 bits. One that is greater stays over: it is greater than any int64 after the division, too.
type wide struct {
	hi, lo uint64
	over   bool
}

func (w *wide) add(tokens int64, r rate) {
	hi, lo := bits.Mul64(uint64(max(tokens, 0)), r.price)
	carry, lo := bits.Mul64(lo, r.parts)
	over, hi := bits.Mul64(hi, r.parts)
	hi, c1 := bits.Add64(hi, carry, 0)
	w.plus(hi, lo)
	w.over = w.over || over != 0 || c1 != 0
}

func (w *wide) plus(hi, lo uint64) {
	var c uint64
	w.lo, c = bits.Add64(w.lo, lo, 0)
	w.hi, c = bits.Add64(w.hi, hi, c)
	w.over = w.over || c != 0
}

// round divides, half up.
func (w wide) round(by uint64) int64 {
	w.plus(0, by/2)
	if w.over || w.hi >= by {
		return math.MaxInt64
	}
	q, _ := bits.Div64(w.hi, w.lo, by)
	return int64(min(q, math.MaxInt64))
}
