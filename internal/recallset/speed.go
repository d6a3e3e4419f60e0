package recallset

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cairnrun/cairn/memory/rank"
)

// Many makes a bank of n documents in threads of twenty, and queries of it. Words are as frequent as in a language: the
// i-th word comes 1/i as often as the first.
func Many(n int) (docs []rank.Doc, queries []string) {
	r := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(r, 1.07, 4, 40_000)
	sentence := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = name(int(words.Uint64()))
		}
		return strings.Join(all, " ")
	}
	for i := range n {
		docs = append(docs, rank.Doc{ID: fmt.Sprintf("d%06d", i), Speaker: name(i % 7), Body: sentence(8 + r.IntN(40)),
			Time: int64(i) * 60_000, Group: fmt.Sprint(i / 20), Pos: i % 20})
	}
	for range 200 {
		queries = append(queries, sentence(4+r.IntN(8)))
	}
	return docs, queries
}

// name writes a number as a pronounceable word.
func name(n int) string {
	const c, v = "bdfgklmnprtvz", "aiou"
	var b strings.Builder
	for n++; n > 0; n /= len(c) * len(v) {
		k := n % (len(c) * len(v))
		b.WriteByte(c[k/len(v)])
		b.WriteByte(v[k%len(v)])
	}
	b.WriteString("k")
	return b.String()
}

// Speed prints how long ranking takes in one bank of n documents.
func Speed(ctx context.Context, w io.Writer, n int) error {
	docs, queries := Many(n)
	start := time.Now()
	index := rank.NewIndex(docs)
	fmt.Fprintf(w, "%d documents, index built in %s\n", n, time.Since(start).Round(time.Millisecond))
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "effort\tp50\tp95\tmax")
	for _, effort := range []rank.Effort{rank.Low, rank.Mid, rank.High} {
		var took []time.Duration
		for _, q := range queries {
			start := time.Now()
			if _, err := rank.Rank(ctx, index, rank.Query{Text: q, Effort: effort, Limit: 50}); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", effort, took[len(took)/2].Round(10*time.Microsecond), took[len(took)*95/100].Round(10*time.Microsecond),
			took[len(took)-1].Round(10*time.Microsecond))
	}
	return out.Flush()
}
