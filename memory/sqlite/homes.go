package sqlite

import (
	"strconv"
	"strings"
)

// home is which items are in a bank, a bit for each number up to through. The full text index counts a word in the whole file
// several times faster than in a large bank: then this tells which of the items count. It stays true of an item that is no more,
// which the index does not find, and until a fact changes its bank, which is an erasure.
type home struct {
	bits    []uint64
	through int64
}

// maxHomes bounds the banks whose items are known. Only those are that make a good part of a file: it has few of them at a time.
const maxHomes = 16

func (h *home) add(no int64) {
	for int(no/64) >= len(h.bits) {
		h.bits = append(h.bits, 0)
	}
	h.bits[no/64] |= 1 << (no % 64)
}

func (h *home) has(no int64) bool {
	return int(no/64) < len(h.bits) && h.bits[no/64]&(1<<(no%64)) != 0
}

// through is up to which number the items of the bank are known. Nothing can be said of a look that has seen other erasures.
func (w *warm) through(bank string, erasures int64) (no int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.homes[bank]; h != nil {
		no = h.through
	}
	return no, erasures == w.erasures && w.room > 0
}

// join adds items to a bank: all that there are up to through.
func (w *warm) join(bank string, erasures int64, items []int64, through int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if erasures != w.erasures || w.room == 0 {
		return
	}
	h := w.homes[bank]
	if h == nil {
		if len(w.homes) == maxHomes {
			clear(w.homes)
		}
		h = &home{}
		w.homes[bank] = h
	}
	for _, no := range items {
		h.add(no)
	}
	h.through = max(h.through, through)
}

// sift returns, of each list, the items that are in the bank. It fails where they are not known up to through.
func (w *warm) sift(bank string, erasures, through int64, lists [][]int64) (in [][]int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.homes[bank]
	if h == nil || h.through < through || erasures != w.erasures {
		return nil, false
	}
	in = make([][]int64, len(lists))
	for i, list := range lists {
		for _, no := range list {
			if h.has(no) {
				in[i] = append(in[i], no)
			}
		}
	}
	return in, true
}

// holding lists the bank's items in the index that hold each term, the first counted of them.
func (s *source) holding(terms []string) (lists [][]int64, err error) {
	if s.store.ring.current != "" {
		return s.unsealed(terms)
	}
	known := false
	if 4*s.size >= s.numbers { // else most of what has a term would be of other banks
		if known, err = s.settle(mostResidents); err != nil {
			return nil, err
		}
	}
	if known {
		return s.sifted(terms)
	}
	lists = make([][]int64, len(terms))
	for i, term := range terms {
		if lists[i], err = s.look.holding(term, s.scope.Bank); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// unsealed is holding in an encrypted file, which has no index: the bank is opened and taken apart, once for a query.
func (s *source) unsealed(terms []string) ([][]int64, error) {
	numbers, err := s.look.numbers("SELECT no FROM mem_items WHERE bank = ? AND lane <> 'thread' ORDER BY no", s.scope.Bank)
	if err != nil {
		return nil, err
	}
	if s.opened == nil {
		list, err := s.look.recalled(numbers)
		if err != nil {
			return nil, err
		}
		s.opened = make(map[int64]*known, len(list))
		for _, k := range list {
			s.opened[k.no] = k
		}
	}
	places := make(map[string]int, len(terms))
	for i, term := range terms {
		places[term] = i
	}
	lists := make([][]int64, len(terms))
	for _, no := range numbers {
		for _, fields := range s.opened[no].entry.Terms {
			for _, term := range fields {
				i, asked := places[term]
				if !asked || len(lists[i]) == counted || len(lists[i]) > 0 && lists[i][len(lists[i])-1] == no {
					continue
				}
				lists[i] = append(lists[i], no)
			}
		}
	}
	return lists, nil
}

// mostResidents bounds what a recall reads of a bank: it takes some milliseconds. A larger bank is known after as many recalls as
// it takes.
const mostResidents = 10_000

// settle learns which items are in the bank, some at a time, and says whether that is known.
func (s *source) settle(some int) (known bool, err error) {
	through, ok := s.store.warm.through(s.scope.Bank, s.erasures)
	if !ok || through >= s.numbers {
		return ok, nil
	}
	items, err := s.look.residents(s.scope.Bank, through, some)
	if err != nil {
		return false, err
	}
	through = s.numbers
	if len(items) == some {
		through = items[len(items)-1]
	}
	s.store.warm.join(s.scope.Bank, s.erasures, items, through)
	return through == s.numbers, nil
}

// sifted looks terms up in the whole index and takes out what other banks have. Where that leaves it open how many the bank has,
// they are looked up in the bank.
func (s *source) sifted(terms []string) (lists [][]int64, err error) {
	all := make([][]int64, len(terms))
	for i, term := range terms {
		if all[i], err = s.look.holding(term, ""); err != nil {
			return nil, err
		}
	}
	lists, ok := s.store.warm.sift(s.scope.Bank, s.erasures, s.numbers, all)
	if !ok { // another recall has met an erasure since
		lists = make([][]int64, len(terms))
	}
	for i, term := range terms {
		if ok && (len(all[i]) < counted || len(lists[i]) == counted) {
			continue
		}
		if lists[i], err = s.look.holding(term, s.scope.Bank); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// holding lists the items in the index that hold the term, in a bank or in any, the first counted of them.
func (l *look) holding(term, bank string) ([]int64, error) {
	var tokens []string
	if bank != "" {
		tokens = append(tokens, bankToken(bank))
	}
	expression := match([]string{term}, tokens...)
	if expression == "" {
		return nil, nil
	}
	return l.numbers("SELECT rowid AS no FROM mem_fts WHERE mem_fts MATCH ? LIMIT ?", expression, counted)
}

// residents lists the bank's items in the index that come after a number, in order.
func (l *look) residents(bank string, after int64, limit int) ([]int64, error) {
	return l.numbers("SELECT rowid AS no FROM mem_fts WHERE mem_fts MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?", `"`+bankToken(bank)+`"`, after, limit)
}

// numbers reads the column no of a query, in one row: each row costs more than many numbers.
func (l *look) numbers(query string, args ...any) (list []int64, err error) {
	var text string
	if err := l.QueryRow("SELECT coalesce(group_concat(no, ' '), '') FROM ("+query+")", args...).Scan(&text); err != nil {
		return nil, err
	}
	for field := range strings.FieldsSeq(text) {
		no, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, damaged("can't read the numbers of items", err)
		}
		list = append(list, no)
	}
	return list, nil
}
