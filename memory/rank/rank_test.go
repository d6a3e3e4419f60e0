package rank_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/memory/rank"
	"pgregory.net/rapid"
)

var efforts = []rank.Effort{rank.Low, rank.Mid, rank.High}

func recall(t *testing.T, src rank.Source, q rank.Query) rank.Result {
	t.Helper()
	got, err := rank.Rank(t.Context(), src, q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func ids(r rank.Result) (out []string) {
	for _, row := range r.Rows {
		out = append(out, row.ID)
	}
	return out
}

func TestRankByWords(t *testing.T) {
	index := rank.NewIndex([]rank.Doc{
		{ID: "disk", Title: "Disk full", Body: "The primary stopped: a replication slot kept 400 GB of WAL."},
		{ID: "pool", Title: "Pool exhaustion", Body: "Every pod opened 50 connections to the primary database."},
		{ID: "mail", Title: "Junk mail", Body: "The SPF record named the old provider."},
		{ID: "empty"},
	})
	for _, effort := range efforts {
		got := recall(t, index, rank.Query{Text: "Which slot filled the disk of the primary?", Effort: effort})
		if len(got.Rows) == 0 || got.Rows[0].ID != "disk" || slices.Contains(ids(got), "mail") {
			t.Errorf("%s: %q", effort, ids(got))
		}
		if got.Trace.Arms[0] != "bm25" || got.Trace.Candidates < len(got.Rows) {
			t.Errorf("%s: %+v", effort, got.Trace)
		}
	}
}

// asked fails the test when the source is asked.
type asked struct{ rank.Source }

func TestNothingAsked(t *testing.T) {
	for _, text := range []string{"", "  ", "what is it that they were", "?!* \"", "NOT OR AND"} {
		for _, effort := range efforts {
			got := recall(t, asked{}, rank.Query{Text: text, Effort: effort, Vector: []float32{1}})
			if len(got.Rows) != 0 || len(got.Trace.Arms) != 0 {
				t.Errorf("%q recalls %+v", text, got)
			}
		}
	}
}

// A row that shares only stop words with the query is not recalled, and nothing is when no row shares more.
func TestStopWordsAreNoMatch(t *testing.T) {
	index := rank.NewIndex([]rank.Doc{{ID: "a", Body: "What is the way to the one that we have?"}, {ID: "b", Body: "the certificate of the gateway"}})
	for _, effort := range efforts {
		if got := recall(t, index, rank.Query{Text: "what is the certificate that we have", Effort: effort}); !slices.Equal(ids(got), []string{"b"}) {
			t.Errorf("%s: %q", effort, ids(got))
		}
		if got := recall(t, index, rank.Query{Text: "what is the zebra that we have", Effort: effort}); len(got.Rows) != 0 {
			t.Errorf("%s: %q", effort, ids(got))
		}
	}
}

func TestNeighbours(t *testing.T) {
	var docs []rank.Doc
	for i, said := range []string{"Good morning.", "Where does the backup of the warehouse run?", "On the small machine in Cologne.", "Thanks!", "Lunch?"} {
		docs = append(docs, rank.Doc{ID: fmt.Sprint(i), Body: said, Group: "thread", Pos: 10 + i})
	}
	docs = append(docs, rank.Doc{ID: "other", Body: "On the small machine in Cologne.", Group: "elsewhere", Pos: 12})
	index := rank.NewIndex(docs)
	q := rank.Query{Text: "where does the warehouse backup run"}
	if got := recall(t, index, q); len(got.Rows) < 2 || got.Rows[0].ID != "1" || got.Rows[1].ID != "2" || slices.Contains(ids(got), "other") {
		t.Errorf("mid: %q", ids(got))
	} else if !slices.Equal(got.Trace.Arms, []string{"bm25", "neighbours"}) {
		t.Error(got.Trace)
	}
	q.Effort = rank.Low
	if got := recall(t, index, q); !slices.Equal(ids(got), []string{"1"}) {
		t.Errorf("low: %q", ids(got))
	}
}

func TestFeedback(t *testing.T) {
	var docs []rank.Doc
	for i := range 40 {
		docs = append(docs, rank.Doc{ID: fmt.Sprintf("filler%02d", i), Body: fmt.Sprintf("number %d of the rows about lunch, room %d", i, i*7)})
	}
	docs = append(docs,
		rank.Doc{ID: "seed1", Body: "The outage came from an expired certificate of the gateway."},
		rank.Doc{ID: "seed2", Body: "Outage again: certificate renewal mail was lost."},
		rank.Doc{ID: "found", Body: "Renewal of every certificate is automatic now."})
	q := rank.Query{Text: "outage", Effort: rank.High}
	got := recall(t, rank.NewIndex(docs), q)
	if !slices.Contains(got.Trace.Feedback, rank.Stem("certificate")) || !slices.Contains(got.Trace.Arms, "feedback") {
		t.Errorf("%+v", got.Trace)
	}
	if got.Rows[0].ID != "seed2" && got.Rows[0].ID != "seed1" {
		t.Errorf("%q", ids(got))
	}
}

func TestTimes(t *testing.T) {
	const day = 24 * 3600 * 1000
	now := int64(1_780_000_000_000) // 28 May 2026
	var docs []rank.Doc
	for ago := range int64(60) {
		docs = append(docs, rank.Doc{ID: fmt.Sprintf("%02d", ago), Body: "deploy of the gateway", Time: now - ago*day})
	}
	index := rank.NewIndex(docs)
	for text, want := range map[string]string{"deploy": "00", "deploy yesterday": "01", "the deploy on 9 May 2026": "19", "the deploy of 2026-05-04": "24", "deploy two weeks ago": "11"} {
		if got := recall(t, index, rank.Query{Text: text, Now: now}); got.Rows[0].ID != want {
			t.Errorf("%s: %s, want %s", text, got.Rows[0].ID, want)
		}
	}
	dated := rank.NewIndex([]rank.Doc{{ID: "plain", Body: "We moved the office", Time: 2}, {ID: "dated", Body: "We moved the office in March", Time: 1}})
	if got := recall(t, dated, rank.Query{Text: "When was the office moved?"}); got.Rows[0].ID != "dated" {
		t.Errorf("%q", ids(got))
	}
	if got := recall(t, dated, rank.Query{Text: "Who moved the office?"}); got.Rows[0].ID != "plain" {
		t.Errorf("%q", ids(got))
	}
}

func TestFloorLimitAndTies(t *testing.T) {
	docs := []rank.Doc{
		{ID: "best", Body: "kafka rebalance storm of the order consumer group"},
		{ID: "b", Body: "lunch with the group", Time: 5}, {ID: "a", Body: "lunch with the group", Time: 5}, {ID: "new", Body: "lunch with the group", Time: 6},
	}
	for i := range 30 {
		docs = append(docs, rank.Doc{ID: fmt.Sprint("f", i), Body: "group"})
	}
	index := rank.NewIndex(docs)
	got := recall(t, index, rank.Query{Text: "kafka rebalance storm order consumer group"})
	if !slices.Equal(ids(got), []string{"best"}) || got.Trace.Dropped[rank.BelowFloor] != 33 {
		t.Errorf("%q, %+v", ids(got), got.Trace)
	}
	for _, row := range got.Rows {
		if row.Score < rank.Mid.Floor()*got.Rows[0].Score {
			t.Errorf("%s is below the floor", row.ID)
		}
	}
	got = recall(t, index, rank.Query{Text: "lunch", Limit: 2})
	if !slices.Equal(ids(got), []string{"new", "a"}) || got.Trace.Dropped[rank.OverLimit] != 1 {
		t.Errorf("%q, %+v", ids(got), got.Trace)
	}
}

func TestVectors(t *testing.T) {
	docs := []rank.Doc{
		{ID: "words", Body: "the storage is full", Vector: []float32{1, 0, 0}},
		{ID: "meaning", Body: "no room left on the device", Vector: []float32{.9, .1, 0}},
		{ID: "far", Body: "pancakes", Vector: []float32{0, 0, 1}},
		{ID: "short", Body: "more pancakes", Vector: []float32{1, 0}},
		{ID: "none", Body: "full board"},
	}
	for i := range 30 {
		docs = append(docs, rank.Doc{ID: fmt.Sprint("f", i), Body: "something else", Vector: []float32{.1, 1, float32(i)}})
	}
	q := rank.Query{Text: "storage full", Vector: []float32{1, 0, 0}, Effort: rank.High}
	got := recall(t, rank.NewIndex(docs), q)
	if !slices.Contains(ids(got), "meaning") || got.Rows[0].ID != "words" || slices.Contains(ids(got), "far") || slices.Contains(ids(got), "short") || !slices.Contains(got.Trace.Arms, "vectors") {
		t.Errorf("%q %+v", ids(got), got.Trace)
	}
	q.Effort = rank.Mid
	if got := recall(t, rank.NewIndex(docs), q); slices.Contains(ids(got), "meaning") {
		t.Errorf("mid: %q", ids(got))
	}
	q.Text, q.Effort = "the and of", rank.High
	if got := recall(t, rank.NewIndex(docs), q); len(got.Rows) != 0 {
		t.Errorf("stop words: %q", ids(got))
	}
}

func TestCosine(t *testing.T) {
	long := make([]float32, 385)
	for i := range long {
		long[i] = float32(i%7) - 3
	}
	for _, tt := range []struct {
		a, b []float32
		want float64
	}{
		{nil, nil, 0}, {[]float32{0, 0}, []float32{1, 0}, 0}, {[]float32{1}, []float32{1, 0}, 0}, {[]float32{1, 0}, []float32{0, 2}, 0},
		{[]float32{3, 4}, []float32{6, 8}, 1}, {[]float32{1, 0}, []float32{-2, 0}, -1}, {long, long, 1},
	} {
		if got := rank.Cosine(tt.a, tt.b); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%v, %v: %g, want %g", tt.a, tt.b, got, tt.want)
		}
	}
}

// failing is a source in which one call fails.
type failing struct {
	rank.Source
	at string
}

var errDown = errors.New("down")

func (f failing) Stats(ctx context.Context) (rank.Stats, error) {
	if f.at == "stats" {
		return rank.Stats{}, errDown
	}
	return f.Source.Stats(ctx)
}

func (f failing) Frequencies(ctx context.Context, terms []string) ([]int, error) {
	if f.at == "frequencies" {
		return nil, errDown
	}
	return f.Source.Frequencies(ctx, terms)
}

func (f failing) Match(ctx context.Context, terms []string, limit int) ([]*rank.Entry, error) {
	if f.at == "match" {
		return nil, errDown
	}
	return f.Source.Match(ctx, terms, limit)
}

func (f failing) Adjacent(ctx context.Context, of []*rank.Entry) ([]*rank.Entry, error) {
	if f.at == "adjacent" {
		return nil, errDown
	}
	return f.Source.Adjacent(ctx, of)
}

func TestSourceFails(t *testing.T) {
	index := rank.NewIndex([]rank.Doc{{ID: "a", Body: "storage", Group: "g"}})
	for _, at := range []string{"stats", "frequencies", "match", "adjacent"} {
		got, err := rank.Rank(t.Context(), failing{index, at}, rank.Query{Text: "storage", Effort: rank.High})
		if !errors.Is(err, errDown) || len(got.Rows) != 0 {
			t.Errorf("%s: %v, %v", at, err, got)
		}
	}
}

// stored is a source as a store has it: it counts and looks up in lists, and returns what it finds in its own order.
type stored struct {
	entries []*rank.Entry
	r       *rand.Rand
}

func (s stored) Stats(context.Context) (rank.Stats, error) {
	all := 0.0
	for _, e := range s.entries {
		all += e.Length()
	}
	return rank.Stats{Docs: len(s.entries), Length: all / float64(max(len(s.entries), 1))}, nil
}

func (s stored) has(e *rank.Entry, term string) bool {
	return slices.ContainsFunc(e.Terms[:], func(f []string) bool { return slices.Contains(f, term) })
}

func (s stored) Frequencies(_ context.Context, terms []string) ([]int, error) {
	out := make([]int, len(terms))
	for i, t := range terms {
		for _, e := range s.entries {
			if s.has(e, t) {
				out[i]++
			}
		}
	}
	return out, nil
}

func (s stored) Match(_ context.Context, terms []string, _ int) (out []*rank.Entry, _ error) {
	for _, e := range s.entries {
		if slices.ContainsFunc(terms, func(t string) bool { return s.has(e, t) }) {
			out = append(out, bare(e))
		}
	}
	s.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

func (s stored) Adjacent(_ context.Context, of []*rank.Entry) (out []*rank.Entry, _ error) {
	for _, e := range s.entries {
		if slices.ContainsFunc(of, func(o *rank.Entry) bool { return o.Group == e.Group && (o.Pos == e.Pos-1 || o.Pos == e.Pos+1) }) {
			out = append(out, bare(e))
		}
	}
	s.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// bare is an entry as a store finds it by anything but its vector.
func bare(e *rank.Entry) *rank.Entry {
	fresh := *e
	fresh.Vector = nil
	return &fresh
}

func (s stored) Embedded(_ context.Context, of []*rank.Entry) (out []*rank.Entry, _ error) {
	for _, e := range s.entries {
		if e.Vector != nil && slices.ContainsFunc(of, func(o *rank.Entry) bool { return o.ID == e.ID }) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (s stored) Nearest(_ context.Context, vector []float32, _ int) (out []*rank.Entry, _ error) {
	for _, e := range s.entries {
		if len(e.Vector) == len(vector) {
			out = append(out, e)
		}
	}
	s.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// The same memories and the same query give the same result, whatever order the source has them in: the index and a
// store of another make agree to the last bit.
func TestDeterministic(t *testing.T) {
	words := strings.Fields("deploy gateway kafka disk slot mail order refund token cache 备份 http_server yesterday? -race")
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(rt, "words"), " ")
		})
		var docs []rank.Doc
		for i := range rapid.IntRange(0, 40).Draw(rt, "documents") {
			d := rank.Doc{ID: fmt.Sprint("d", i), Body: text.Draw(rt, "body"), Time: rapid.Int64Range(0, 3).Draw(rt, "time")}
			if rapid.Bool().Draw(rt, "with a vector") {
				d.Vector = []float32{rapid.Float32Range(-1, 1).Draw(rt, "x"), rapid.Float32Range(-1, 1).Draw(rt, "y"), .5}
			}
			if rapid.Bool().Draw(rt, "in a group") {
				d.Group, d.Pos = "g", i
			}
			docs = append(docs, d)
		}
		q := rank.Query{Text: text.Draw(rt, "query"), Effort: rapid.SampledFrom(efforts).Draw(rt, "effort")}
		if rapid.Bool().Draw(rt, "by vector") {
			q.Vector = []float32{1, .2, .1}
		}
		told := func(src rank.Source) rank.Result {
			result := recall(t, src, q)
			for i := range result.Rows {
				result.Rows[i].Vector = nil // not every source has it at hand
			}
			return result
		}
		first := told(rank.NewIndex(docs))
		r := rand.New(rand.NewPCG(1, uint64(len(docs))))
		var entries []*rank.Entry
		for _, i := range r.Perm(len(docs)) {
			entries = append(entries, rank.NewEntry(docs[i]))
		}
		for _, src := range []rank.Source{rank.NewIndex(docs), rank.IndexOf(entries), stored{entries, r}} {
			if again := told(src); !reflect.DeepEqual(first, again) {
				rt.Fatalf("%T\n%+v\n%+v", src, first, again)
			}
		}
		for i, row := range first.Rows {
			if row.Score <= 0 || math.IsNaN(row.Score) || i > 0 && row.Score > first.Rows[i-1].Score {
				rt.Fatalf("row %d: %+v", i, first.Rows)
			}
		}
		dropped := 0
		for _, n := range first.Trace.Dropped {
			dropped += n
		}
		if len(first.Rows)+dropped != first.Trace.Candidates {
			rt.Fatalf("%d rows of %+v", len(first.Rows), first.Trace)
		}
	})
}

func TestEffort(t *testing.T) {
	var zero rank.Effort
	if zero.String() != "mid" || zero.Candidates() != 200 || rank.Low.Candidates() != 50 || rank.High.Candidates() != 500 || rank.Low.String()+rank.High.String() != "lowhigh" {
		t.Error("efforts")
	}
	var docs []rank.Doc
	for i := range 1000 {
		docs = append(docs, rank.Doc{ID: fmt.Sprint(i), Body: "gateway"})
	}
	for _, effort := range efforts {
		if got := recall(t, rank.NewIndex(docs), rank.Query{Text: "gateway", Effort: effort}); len(got.Rows) != effort.Candidates() {
			t.Errorf("%s: %d rows", effort, len(got.Rows))
		}
	}
}
