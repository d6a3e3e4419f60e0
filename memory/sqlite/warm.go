package sqlite

import (
	"bytes"
	"container/list"
	"sync"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
)

// warmth bounds what a store keeps of what its recalls have read, in bytes, as far as they can be told: some 20,000 notes of 250
// bytes, for the terms of a text take several times its place.
const warmth = 32 << 20

// known is an item that a recall has read, and what package rank makes of it. Both are shared: nobody changes them.
type known struct {
	mark
	item  memory.Item
	entry *rank.Entry
}

// mark tells one state of an item from all others: numbers are given once, and what recall tells of an item changes with its
// version or its text alone.
type mark struct {
	no, version int64
	hash        []byte
}

func (m mark) same(o mark) bool {
	return m.no == o.no && m.version == o.version && bytes.Equal(m.hash, o.hash)
}

// warm keeps what recalls have read, the most recently used of it. It answers by mark: whether an item may be seen, and in which
// state, the file says at each recall. An encrypted store keeps nothing.
//
// What is erased from the file is erased here too. The file counts erasures (bank.go), so that those of other processes show, and so that
// a recall that has begun before one can't bring back what it read then.
type warm struct {
	mu       sync.Mutex
	room     int
	size     int
	erasures int64 // what is here was read after so many
	items    map[int64]*list.Element
	used     *list.List // of *known, the most recent first
	homes    map[string]*home
}

func newWarm(room int) *warm {
	w := &warm{room: room}
	w.empty()
	return w
}

// meet is told how many erasures a recall sees, and drops what was read before the last of them.
func (w *warm) meet(erasures int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if erasures > w.erasures {
		w.erasures = erasures
		w.empty()
	}
}

// erase is told of the erasure of its own store that has that number, and of the items that went. One of another process that
// came in between has taken others.
func (w *warm) erase(erasures int64, gone []int64, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all || erasures != w.erasures+1 {
		w.empty()
	}
	w.erasures = max(w.erasures, erasures)
	for _, no := range gone {
		if at := w.items[no]; at != nil {
			w.drop(at)
		}
	}
}

// close empties it for good.
func (w *warm) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = 0
	w.empty()
}

func (w *warm) empty() {
	w.items, w.used, w.size, w.homes = map[int64]*list.Element{}, list.New(), 0, map[string]*home{}
}

func (w *warm) drop(at *list.Element) {
	k := w.used.Remove(at).(*known)
	delete(w.items, k.no)
	w.size -= k.size()
}

// take returns what is known of each mark, nil where nothing is.
func (w *warm) take(marks []mark) []*known {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := make([]*known, len(marks))
	for i, m := range marks {
		at := w.items[m.no]
		if at == nil {
			continue
		}
		if k := at.Value.(*known); k.same(m) {
			found[i] = k
			w.used.MoveToFront(at)
		}
	}
	return found
}

// keep adds what was read after so many erasures.
func (w *warm) keep(erasures int64, list []*known) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if erasures != w.erasures || w.room == 0 {
		return
	}
	for _, k := range list {
		if at := w.items[k.no]; at != nil {
			w.drop(at)
		}
		w.items[k.no] = w.used.PushFront(k)
		w.size += k.size()
	}
	for w.size > w.room {
		w.drop(w.used.Back())
	}
}

// size is about what it takes in memory.
func (k *known) size() int {
	const fixed, header = 800, 16 // structs, the entry of the map and the list; a string
	n := fixed + len(k.item.Title) + len(k.item.Text)
	for _, tag := range k.item.Tags {
		n += header + len(tag)
	}
	for _, terms := range k.entry.Terms {
		for _, term := range terms {
			n += header + len(term)
		}
	}
	return n
}

// newKnown takes an item apart for ranking.
func newKnown(m mark, i memory.Item) *known { return &known{m, i, entryOf(i)} }
