package memory

import (
	"maps"
	"strings"
)

// Why a row is left out although its bank has found it: reports have these beside the bank's own reasons.
const (
	shownAsPrimer  = "shown as a primer"
	shownByAnother = "shown by another bank"
)

// repeated counts by bank the rows that were left out because the task is shown what they say anyway, and why.
type repeated map[string]map[string]int

func (r repeated) add(bank, why string) {
	if r[bank] == nil {
		r[bank] = map[string]int{}
	}
	r[bank][why]++
}

// in is what a bank has dropped, and what of its rows was left out.
func (r repeated) in(bank string, dropped map[string]int) map[string]int {
	all := maps.Clone(dropped)
	if all == nil && len(r[bank]) > 0 {
		all = map[string]int{}
	}
	for why, n := range r[bank] {
		all[why] += n
	}
	return all
}

// news are the rows that tell a task something which it is not shown otherwise. Left out are those of an item that is before it
// as a primer, and what was kept in several banks and is shown by another one already. Within a bank equal texts are of
// different items, and that there are several says something.
func news(rows, primers []part) (left []part, out repeated) {
	out = repeated{}
	items, texts := map[Ref]bool{}, map[string]bool{}
	for _, p := range primers {
		items[p.item], texts[strings.TrimSpace(p.text)] = true, true
	}
	delete(items, Ref{}) // not known
	delete(texts, "")
	first := map[string]string{} // the bank that shows a text
	for _, r := range rows {
		text := strings.TrimSpace(r.text)
		switch bank, shown := first[text]; {
		case items[r.item] || texts[text]:
			out.add(r.bank, shownAsPrimer)
		case shown && bank != r.bank:
			out.add(r.bank, shownByAnother)
		default:
			first[text] = r.bank
			left = append(left, r)
		}
	}
	return left, out
}
