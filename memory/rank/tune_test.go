package rank

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"testing"
	"time"
)

type lconv struct {
	Sample string
	Docs   []struct {
		ID      string
		Session int
		At      string
		Speaker string
		Text    string
		Caption string
	}
	Queries []struct {
		Category int
		Question string
		Relevant []string
	}
}

func loadVec() map[string][]float32 {
	f, err := os.Open("/tmp/memrank-dl/vec.bin")
	if err != nil {
		return nil
	}
	defer f.Close()
	r := bufio.NewReader(f)
	out := map[string][]float32{}
	for {
		var n uint32
		if binary.Read(r, binary.LittleEndian, &n) != nil {
			return out
		}
		b := make([]byte, n)
		io.ReadFull(r, b)
		v := make([]float32, 384)
		raw := make([]byte, 384*4)
		io.ReadFull(r, raw)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[i*4:]))
		}
		out[string(b)] = v
	}
}

var convs []lconv
var vecs map[string][]float32
var vecMode = "a"

func load() {
	if convs != nil {
		return
	}
	raw, _ := os.ReadFile("/work/shared/data/locomo-dev.json")
	if err := json.Unmarshal(raw, &convs); err != nil {
		panic(err)
	}
	vecs = loadVec()
}

func build(c lconv, p *params) *Index {
	var docs []Doc
	prev, prevS := "", -1
	for i, d := range c.Docs {
		at, err := time.Parse("3:04 pm on 2 January, 2006", d.At)
		if err != nil {
			panic(err)
		}
		t := d.Text
		if d.Caption != "" {
			t += " [" + d.Caption + "]"
		}
		a := d.Speaker + ": " + t
		key := a
		switch vecMode {
		case "t":
			key = t
		case "p":
			if prevS == d.Session {
				key = prev + "\n" + a
			}
		}
		prev, prevS = a, d.Session
		docs = append(docs, Doc{ID: fmt.Sprintf("%05d/%s", i, d.ID), Speaker: d.Speaker, Body: d.Text, About: d.Caption, Time: at.UnixMilli(), Group: fmt.Sprint(d.Session), Pos: i, Vector: vecs[key]})
	}
	var es []*Entry
	for _, d := range docs {
		es = append(es, NewEntry(d))
	}
	return indexOf(es, p)
}

type meas struct{ r5, r10, r20, r50, kib, mrr, n, prec float64 }

func (m meas) String() string {
	return fmt.Sprintf("R5 %.3f R10 %.3f R20 %.3f R50 %.3f 2K %.3f MRR %.3f", m.r5/m.n, m.r10/m.n, m.r20/m.n, m.r50/m.n, m.kib/m.n, m.mrr/m.n)
}

func eval(p params, effort Effort, vec bool, which []int, cat map[int]*meas) meas {
	load()
	old := tuned
	tuned = p
	defer func() { tuned = old }()
	var m meas
	for _, ci := range which {
		c := convs[ci]
		x := build(c, &p)
		for _, q := range c.Queries {
			if len(q.Relevant) == 0 {
				continue
			}
			rel := map[string]bool{}
			for _, r := range q.Relevant {
				rel[r] = true
			}
			qq := Query{Text: q.Question, Effort: effort}
			if vec {
				qq.Vector = vecs[q.Question]
			}
			res, err := rank(context.Background(), x, qq, &p)
			if err != nil {
				panic(err)
			}
			one := meas{n: 1}
			left := 2048
			for i, row := range res.Rows {
				hit := 0.0
				if rel[row.ID[6:]] {
					hit = 1 / float64(len(rel))
					if one.mrr == 0 {
						one.mrr = 1 / float64(i+1)
					}
				}
				if i < 5 {
					one.r5 += hit
				}
				if i < 10 {
					one.r10 += hit
				}
				if i < 20 {
					one.r20 += hit
				}
				if i < 50 {
					one.r50 += hit
				}
				n := len(row.Speaker) + 2 + len(row.Body) + 1
				if left > 0 {
					if n <= left {
						one.kib += hit
						left -= n
					} else {
						left = 0
					}
				}
			}
			add := func(m *meas) {
				m.r5 += one.r5
				m.r10 += one.r10
				m.r20 += one.r20
				m.r50 += one.r50
				m.kib += one.kib
				m.mrr += one.mrr
				m.n++
			}
			add(&m)
			if cat != nil {
				if cat[q.Category] == nil {
					cat[q.Category] = &meas{}
				}
				add(cat[q.Category])
			}
		}
	}
	return m
}

var dev, held = []int{0, 2}, []int{1, 3, 4}

func try(name string, p params, e Effort, vec bool) {
	fmt.Printf("%-34s %-4s dev  %v\n%-34s      held %v\n", name, e, eval(p, e, vec, dev, nil), "", eval(p, e, vec, held, nil))
}

func TestTune(t *testing.T) {
	load()
	fmt.Println(len(vecs))
	base := tuned
	for _, e := range []Effort{Low, Mid, High} {
		try("base", base, e, false)
	}
	mod := func(name string, e Effort, f func(p *params)) {
		p := base
		f(&p)
		try(name, p, e, false)
	}
	mod("k1 .6 b .3", Low, func(p *params) { p.k1, p.b = .6, .3 })
	mod("speaker .5", Low, func(p *params) { p.weight[Speaker] = .5 })
	mod("speaker 1.5", Low, func(p *params) { p.weight[Speaker] = 1.5 })
	mod("about .5", Low, func(p *params) { p.weight[About] = .5 })
	mod("prox .1", Low, func(p *params) { p.proximity = .1 })
	mod("prox .3", Low, func(p *params) { p.proximity = .3 })
	mod("cov .5", Low, func(p *params) { p.coverage = .5 })
	mod("cov 1", Low, func(p *params) { p.coverage = 1 })
	mod("when .2", Low, func(p *params) { p.when = .2 })
	mod("when .4", Low, func(p *params) { p.when = .4 })
	mod("question .7", Mid, func(p *params) { p.question = .7 })
	mod("question .7 prev .3", Mid, func(p *params) { p.question, p.previous = .7, .3 })
}
