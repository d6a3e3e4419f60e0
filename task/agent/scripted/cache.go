package scripted

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// prefixes is what a prompt cache has, by the hash of what was read until there.
type prefixes map[[sha256.Size]byte]entry

type entry struct {
	life  time.Duration
	until time.Time
}

// part is where a prefix of a window can end: behind the tools, the system text, a block.
type part struct {
	message, block int
	// bytes is how long the prefix is, sum its hash.
	bytes int
	sum   [sha256.Size]byte
}

func (p part) tokens() int64 { return tokens(p.bytes) }

// parts takes a window apart, in the order in which a provider reads it.
func parts(w loop.Window) (all []part) {
	h, n := sha256.New(), 0
	end := func(message, block int) {
		p := part{message: message, block: block, bytes: n}
		h.Sum(p.sum[:0])
		all = append(all, p)
	}
	for _, t := range w.Tools {
		n += read(h, t.Name, t.Description, string(t.Schema))
	}
	if len(w.Tools) > 0 {
		end(window.OfTools, 0)
	}
	if n += read(h, w.System, string(w.Schema)); w.System != "" || w.Schema != nil {
		end(window.OfSystem, 0)
	}
	for i, m := range w.Messages {
		for j, b := range m.Blocks {
			n += read(h, b.ID, b.Name, b.Text, string(b.Input), string(b.Raw))
			read(h, string(m.Role), string(b.Kind), b.Provider, fmt.Sprint(j, b.Error)) // what costs no tokens
			end(i, j)
		}
	}
	return all
}

// read hashes texts so that none can pass for another, and returns how long they are.
func read(h hash.Hash, texts ...string) (n int) {
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s,", len(t), t)
		n += len(t)
	}
	return n
}

// count is the usage of a call: what it reads from the cache, writes there and reads otherwise, and what is answered.
func (m *Model) count(w loop.Window, answer []window.Block) (cairn.Usage, error) {
	u := cairn.Usage{Model: m.name()}
	bytes := 0
	for _, b := range answer {
		bytes += len(b.Text) + len(b.Name) + len(b.Input)
	}
	u.Output = tokens(bytes)
	all := parts(w)
	if len(all) == 0 {
		return u, nil
	}
	last := all[len(all)-1]
	if total := last.tokens(); m.Size > 0 && total > int64(m.Size) {
		return u, &cairn.Failure{Code: loop.ContextFull, Permanent: true, Message: fmt.Sprintf("scripted: the window has %d tokens, and %d fit", total, m.Size)}
	}
	if m.Cache == (window.Rules{}) {
		u.Input = tokens(last.bytes)
		return u, nil
	}
	marks, err := m.marked(w, all)
	if err != nil {
		return u, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	hit := m.cache.find(all, marks, m.Cache, now)
	wrote := m.write(all, marks, now)
	u.CacheRead = hit
	u.CacheWrite, u.CacheWrite1h = max(wrote.all-hit, 0), max(wrote.long-hit, 0)
	u.Input = tokens(last.bytes) - u.CacheRead - u.CacheWrite
	return u, nil
}

// mark is a breakpoint, as the number of the part that it is behind.
type mark struct {
	part int
	long bool
}

// marked finds the marks of a window. A provider without marks has one behind each part.
func (m *Model) marked(w loop.Window, all []part) (marks []mark, err error) {
	if m.Cache.Marks == 0 {
		for i := range all {
			marks = append(marks, mark{part: i})
		}
		return marks, nil
	}
	refuse := func(format string, args ...any) ([]mark, error) {
		return nil, &cairn.Failure{Code: loop.ModelRequest, Permanent: true, Message: "scripted: " + fmt.Sprintf(format, args...)}
	}
	if len(w.Marks) > m.Cache.Marks {
		return refuse("%d cache marks are more than the %d that are allowed", len(w.Marks), m.Cache.Marks)
	}
	for _, at := range w.Marks {
		i := slices.IndexFunc(all, func(p part) bool { return p.message == at.Message && p.block == at.Block })
		if i < 0 {
			return refuse("there is nothing to mark at message %d, block %d", at.Message, at.Block)
		}
		marks = append(marks, mark{i, at.Long})
	}
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Compare(a.part, b.part) })
	return marks, nil
}

// find is how many tokens the longest prefix has that is known and can be found from a mark. Finding it lengthens its life.
func (c prefixes) find(all []part, marks []mark, rules window.Rules, now time.Time) int64 {
	for _, mark := range slices.Backward(marks) {
		least := 0
		if rules.Lookback > 0 {
			least = max(mark.part-rules.Lookback, 0)
		}
		for i := mark.part; i >= least; i-- {
			e, ok := c[all[i].sum]
			if !ok || e.life > 0 && now.After(e.until) {
				continue
			}
			e.until = now.Add(e.life)
			c[all[i].sum] = e
			return all[i].tokens()
		}
	}
	return 0
}

// written is how long the prefix is that is in the cache afterwards, and how much of it for the longer life.
type written struct{ all, long int64 }

// write keeps the prefixes at the marks. It is called with mu held.
func (m *Model) write(all []part, marks []mark, now time.Time) (w written) {
	if m.cache == nil {
		m.cache = prefixes{}
	}
	for _, mark := range marks {
		p := all[mark.part]
		if p.tokens() < int64(m.Cache.Minimum) {
			continue
		}
		life := m.Cache.Life
		if mark.long && m.Cache.Long > 0 {
			life = m.Cache.Long
		}
		if old, ok := m.cache[p.sum]; ok && (old.life == 0 || old.life > life && !now.After(old.until)) {
			life = old.life
		}
		m.cache[p.sum] = entry{life, now.Add(life)}
		if m.Cache.Marks == 0 {
			continue // nobody is told
		}
		w.all = max(w.all, p.tokens())
		if mark.long && m.Cache.Long > 0 {
			w.long = max(w.long, p.tokens())
		}
	}
	return w
}
