package sqlite

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/cairnrun/cairn/memory"
)

// scored finds candidates without an index: every item of the scope is read and scored by BM25 (k1 0.9, b 0.4) over its
// words. A term of several words must occur with them next to each other; endings are cut off roughly instead of stemmed.
func (l *look) scored(scope memory.Scope, terms []string, limit int) ([]memory.Item, error) {
	where, args, err := l.within(scope)
	if err != nil {
		return nil, err
	}
	var wanted [][]string
	for _, term := range terms {
		if words := words(indexed(term)); len(words) > 0 && len(wanted) < maxTerms {
			wanted = append(wanted, words)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	records, err := l.records("WHERE "+where+" ORDER BY i.no", args...)
	if err != nil {
		return nil, err
	}
	type document struct {
		counts []int
		length int
	}
	documents := make([]document, len(records))
	having, total := make([]int, len(wanted)), 0
	for i, r := range records {
		text := words(indexed(string(r.title)) + "\n" + indexed(string(r.body)))
		d := document{counts: make([]int, len(wanted)), length: len(text)}
		for t, term := range wanted {
			if d.counts[t] = occurrences(text, term); d.counts[t] > 0 {
				having[t]++
			}
		}
		documents[i] = d
		total += d.length
	}
	const k1, b = 0.9, 0.4
	var list []memory.Item
	for i, r := range records {
		d, score := documents[i], 0.0
		for t := range wanted {
			if d.counts[t] == 0 {
				continue
			}
			n, f := float64(having[t]), float64(d.counts[t])
			idf := math.Log(1 + (float64(len(records))-n+0.5)/(n+0.5))
			score += idf * f * (k1 + 1) / (f + k1*(1-b+b*float64(d.length*len(records))/float64(total)))
		}
		if score > 0 {
			list = append(list, r.item(score))
		}
	}
	byScore(list)
	return list[:min(limit, len(list))], nil
}

// words splits a text, in lower case, without marks and without a plural's or past's ending.
func words(text string) []string {
	unmarked := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(text))
	list := strings.FieldsFunc(unmarked, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for i, w := range list {
		for _, ending := range []string{"ing", "ies", "es", "ed", "s", "e", "y"} {
			if stem, cut := strings.CutSuffix(w, ending); cut && len(stem) > 2 {
				list[i] = stem
				break
			}
		}
	}
	return list
}

func occurrences(text, term []string) (n int) {
next:
	for i := 0; i+len(term) <= len(text); i++ {
		for j, w := range term {
			if text[i+j] != w {
				continue next
			}
		}
		n++
	}
	return n
}
