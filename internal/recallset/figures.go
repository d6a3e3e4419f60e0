package recallset

import (
	"context"
	"slices"
	"time"

	"github.com/cairnrun/cairn/memory/rank"
)

// Block is the size of the block that recall is measured in, in bytes.
const Block = 2048

// Figures are means over queries that have relevant documents, latencies aside.
type Figures struct {
	// Queries is how many there were.
	Queries int
	// At5, At10 and At20 are the parts of the relevant documents that are among the first rows.
	At5, At10, At20 float64
	// MRR is 1 divided by the place of the first relevant row.
	MRR float64
	// InBlock is the part of the relevant documents that are whole in a block of 2 KiB, filled with the best rows first
	// until one does not fit.
	InBlock float64
	// Precision is the part of the rows in that block that are relevant. With one relevant document of fourteen rows it can
	// be no more than .07.
	Precision float64
	// Rows is how many rows are above the floor.
	Rows float64
	// Silent is, of the queries that nothing answers, the part that recalls nothing; NoAnswer is how many these are.
	Silent   float64
	NoAnswer int
	// P50 and P95 are how long ranking took.
	P50, P95 time.Duration
}

// Measure asks all queries of some scopes. kind, if not empty, picks those of one kind.
func Measure(ctx context.Context, scopes []Scope, effort rank.Effort, kind string) (Figures, error) {
	var f Figures
	var took []time.Duration
	for _, s := range scopes {
		index := rank.NewIndex(s.Docs)
		for _, q := range s.Queries {
			if kind != "" && q.Kind != kind {
				continue
			}
			start := time.Now()
			got, err := rank.Rank(ctx, index, rank.Query{Text: q.Text, Vector: q.Vector, Effort: effort})
			took = append(took, time.Since(start))
			if err != nil {
				return f, err
			}
			if len(q.Relevant) == 0 {
				f.NoAnswer++
				if len(got.Rows) == 0 {
					f.Silent++
				}
				continue
			}
			f.add(got.Rows, q.Relevant)
		}
	}
	if n := float64(f.Queries); n > 0 {
		for _, v := range []*float64{&f.At5, &f.At10, &f.At20, &f.MRR, &f.InBlock, &f.Precision, &f.Rows} {
			*v /= n
		}
	}
	if f.NoAnswer > 0 {
		f.Silent /= float64(f.NoAnswer)
	}
	if len(took) > 0 {
		slices.Sort(took)
		f.P50, f.P95 = took[len(took)/2], took[len(took)*95/100]
	}
	return f, nil
}

func (f *Figures) add(rows []rank.Row, relevant []string) {
	f.Queries++
	f.Rows += float64(len(rows))
	part := 1 / float64(len(relevant))
	room, packed, hits := Block, 0, 0
	found := false
	for i, row := range rows {
		hit := slices.Contains(relevant, row.ID)
		if n := len(Text(row.Doc)) + 1; room >= n {
			room -= n
			packed++
			if hit {
				hits++
				f.InBlock += part
			}
		} else {
			room = 0 // the row that is cut, and nothing after it
		}
		if !hit {
			continue
		}
		if !found {
			f.MRR += 1 / float64(i+1)
			found = true
		}
		if i < 5 {
			f.At5 += part
		}
		if i < 10 {
			f.At10 += part
		}
		if i < 20 {
			f.At20 += part
		}
	}
	if packed > 0 {
		f.Precision += float64(hits) / float64(packed)
	}
}
