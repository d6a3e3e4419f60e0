package main

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// meter counts what the provider would see: bytes, four to a token, and what of them its cache has.
type meter struct {
	mu sync.Mutex // guards the rest
	// spent is time in the model and in the tools' own code, calls how many there were of each.
	spent time.Duration
	calls map[string]int

	used []cairn.Usage
	// last are the pieces of the window before, common says of each call by its number in the run how much of the window before
	// begins it, as a part of that.
	last   []piece
	common []float64
	// final is the last window.
	final loop.Window
	// known are the prefixes that the provider has cached.
	known map[uint64]bool
	seed  maphash.Seed
}

func newMeter() *meter {
	return &meter{calls: map[string]int{}, known: map[uint64]bool{}, seed: maphash.MakeSeed()}
}

// outside takes down time that is not the engine's.
func (m *meter) outside(began time.Time, what string) {
	took := time.Since(began)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent += took
	m.calls[what]++
}

// A piece is a tool, the system text or a block, in the texts that it is made of: they are not put together, as that would give the
// collector work of which some would fall into the engine's time.
type piece [3]string

func (p piece) size() int { return len(p[0]) + len(p[1]) + len(p[2]) }

// pieces are the bytes of a window in their order, and which piece ends each marked prefix.
func pieces(w loop.Window) (list []piece, marked []int) {
	place := map[window.Mark]int{}
	for _, t := range w.Tools {
		list = append(list, piece{t.Name, t.Description, string(t.Schema)})
	}
	place[window.Mark{Message: window.OfTools}] = len(list) - 1
	list = append(list, piece{w.System})
	place[window.Mark{Message: window.OfSystem}] = len(list) - 1
	for i, m := range w.Messages {
		for j, b := range m.Blocks {
			list = append(list, piece{b.Name, b.Text, string(b.Input)})
			place[window.Mark{Message: i, Block: j}] = len(list) - 1
		}
	}
	for _, mark := range w.Marks {
		mark.Long = false
		marked = append(marked, place[mark])
	}
	return list, marked
}

// call counts one of the agent's.
func (m *meter) call(w loop.Window, answer []window.Block) cairn.Usage {
	list, marked := pieces(w)
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.cached(list, marked)
	u.Output = written(answer)
	if m.last != nil {
		m.common = append(m.common, share(m.last, list))
	}
	m.last, m.final = list, w
	m.used = append(m.used, u)
	return u
}

// aside counts a call with a window of its own: it finds nothing cached, and leaves nothing.
func (m *meter) aside(w loop.Window, answer []window.Block) cairn.Usage {
	list, _ := pieces(w)
	m.mu.Lock()
	defer m.mu.Unlock()
	u := cairn.Usage{Model: priced, Input: int64(window.Tokens(size(list))), Output: written(answer)}
	m.used = append(m.used, u)
	return u
}

func written(answer []window.Block) int64 {
	n := 0
	for _, b := range answer {
		n += len(b.Text) + len(b.Name) + len(b.Input)
	}
	return int64(window.Tokens(n))
}

func size(list []piece) (n int) {
	for _, p := range list {
		n += p.size()
	}
	return n
}

// cached is the provider's cache by its documented rules: a prefix is found where an earlier call has marked it, if that is no more
// than the look-back before a mark of this call. What is behind it up to the last mark is written, the rest is plain input.
// Entries do not run out: calls of the bench are microseconds apart, those of a model seconds.
func (m *meter) cached(list []piece, marked []int) cairn.Usage {
	prefix := make([]uint64, len(list)) // the hash of all up to a piece
	upTo := make([]int, len(list))
	var h maphash.Hash
	h.SetSeed(m.seed)
	total := 0
	for i, p := range list {
		for _, text := range p {
			h.WriteString(text)
			h.WriteByte(0)
		}
		total += p.size()
		prefix[i], upTo[i] = h.Sum64(), total
	}
	read, wrote := 0, 0
	for _, at := range marked {
		for back := 0; back < rules.Lookback && at-back >= 0; back++ {
			if m.known[prefix[at-back]] {
				read = max(read, upTo[at-back])
				break
			}
		}
	}
	for _, at := range marked {
		if window.Tokens(upTo[at]) >= rules.Minimum {
			m.known[prefix[at]] = true
			wrote = max(wrote, upTo[at])
		}
	}
	all := window.Tokens(total)
	u := cairn.Usage{Model: priced, CacheRead: int64(read / 4), CacheWrite: int64((max(wrote, read) - read) / 4)}
	u.Input = int64(all) - u.CacheRead - u.CacheWrite
	return u
}

// share is how much of a window is the beginning of the next one.
func share(before, now []piece) float64 {
	same := 0
	for i, p := range before {
		if i < len(now) && now[i] == p {
			same += p.size()
			continue
		}
		if i < len(now) {
			was, is := strings.Join(p[:], ""), strings.Join(now[i][:], "")
			for j := 0; j < min(len(was), len(is)) && was[j] == is[j]; j++ {
				same++
			}
		}
		break
	}
	return float64(same) / float64(size(before))
}

// bill is what all calls have used, and cost in micro-dollars.
func (m *meter) bill() (sum cairn.Usage, cost int64) {
	models := aspects.DefaultModels()
	for _, u := range m.used {
		sum.Input += u.Input
		sum.CacheRead += u.CacheRead
		sum.CacheWrite += u.CacheWrite
		sum.Output += u.Output
		c, _ := models.Cost(u) // the table has it
		cost += c
	}
	return sum, cost
}
