package sqlite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// model is memory that is slow and obvious: lists that are searched from the start. It exists to be compared with.
type model struct {
	now      time.Time
	versions []modelVersion
	notes    []*memory.Note
}

type modelVersion struct {
	memory.Fact
	dead bool
}

// newest returns a key's newest version, expired or not.
func (m *model) newest(key string) *modelVersion {
	for i := len(m.versions) - 1; i >= 0; i-- {
		if m.versions[i].Key == key {
			return &m.versions[i]
		}
	}
	return nil
}

func (m *model) expired(f memory.Fact) bool { return !f.Expires.IsZero() && !f.Expires.After(m.now) }

// live says whether the key has a fact that is neither deleted nor expired.
func (m *model) live(key string) *modelVersion {
	v := m.newest(key)
	if v == nil || v.dead || m.expired(v.Fact) {
		return nil
	}
	return v
}

func (m *model) set(f memory.Fact) {
	f.Created, f.Updated = m.now, m.now
	if was := m.live(f.Key); was != nil {
		f.Created = was.Created
	} else if was := m.newest(f.Key); was != nil && !was.dead { // it has expired, with its past
		m.versions = slices.DeleteFunc(m.versions, func(v modelVersion) bool { return v.Key == f.Key })
	}
	m.versions = append(m.versions, modelVersion{Fact: f})
}

func (m *model) get(key string, at memory.Moment) *memory.Fact {
	if v := m.newest(key); v == nil || !v.dead && m.expired(v.Fact) {
		return nil
	}
	valid := at.Valid
	if valid.IsZero() {
		valid = m.now
	}
	for _, v := range slices.Backward(m.versions) {
		if v.Key != key || !at.System.IsZero() && v.Updated.After(at.System) {
			continue
		}
		if v.dead {
			return nil
		}
		if v.Valid.Covers(valid) {
			if m.expired(v.Fact) {
				return nil
			}
			return &v.Fact
		}
	}
	return nil
}

// counting are the ids of the notes that count, for a reader who asks for a tag, or for none.
func (m *model) counting(tag string) []string {
	ids := []string{}
	for _, n := range m.notes {
		ok := n.Status == memory.Accepted && n.Valid.Covers(m.now) && (tag == "" || slices.Contains(n.Tags, tag))
		for _, s := range m.notes {
			if slices.Contains(s.Supersedes, n.ID) && s.Status == memory.Accepted && !s.Valid.From.After(m.now) && (tag == "" || slices.Contains(s.Tags, tag)) {
				ok = false
			}
		}
		if ok {
			ids = append(ids, n.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// The store answers as the model does, whatever was written in whatever order.
func TestStoreIsTheModel(t *testing.T) {
	t.Parallel()
	shared := newFixture(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		f := shared
		m := &model{now: f.clock.Now()}
		begin := m.now
		in := memory.Place{Namespace: space(fmt.Sprint("model-", run)), Bank: fmt.Sprint("bank-", run)}
		key := rapid.SampledFrom([]string{"a", "b"})
		moment := func(label string) time.Time {
			n := rapid.IntRange(-2, 8).Draw(rt, label)
			if n == 8 {
				return time.Time{}
			}
			return begin.Add(time.Duration(n) * time.Hour)
		}
		span := func() memory.Span {
			s := memory.Span{From: moment("from"), To: moment("to")}
			if s.Check() != nil {
				return memory.Span{}
			}
			return s
		}
		for step := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			m.now = f.clock.Advance(time.Duration(rapid.IntRange(0, 60).Draw(rt, "minutes")) * time.Minute)
			k := key.Draw(rt, "key")
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0, 1, 2:
				x := memory.Fact{Place: in, Key: k, Value: []byte(fmt.Sprint(step)), Expires: moment("expires"), Valid: span()}
				if rapid.Bool().Draw(rt, "expires never") {
					x.Expires = time.Time{}
				}
				expected := int64(-1)
				if rapid.Bool().Draw(rt, "swap") {
					expected = 0
					if v := m.live(k); v != nil && rapid.Bool().Draw(rt, "right") {
						expected = v.Version
					}
				}
				var err error
				if expected < 0 {
					x, err = f.SetFact(f.ctx, x)
				} else {
					x, err = f.SwapFact(f.ctx, x, expected)
				}
				have := int64(0)
				if v := m.live(k); v != nil {
					have = v.Version
				}
				if expected >= 0 && expected != have {
					if cairn.CodeOf(err, "") != memory.VersionConflict {
						rt.Fatalf("expected %d, there is %d: %v", expected, have, err)
					}
					continue
				}
				if err != nil {
					rt.Fatal(err)
				}
				for _, v := range m.versions {
					if v.Key == k && v.Version >= x.Version {
						rt.Fatalf("version %d after %d", x.Version, v.Version)
					}
				}
				m.set(x)
				if want := m.newest(k); marshal(want.Fact) != marshal(x) {
					rt.Fatalf("wrote %s, want %s", marshal(x), marshal(want.Fact))
				}
			case 3:
				deleted, err := f.DeleteFact(f.ctx, in.Namespace, k)
				v := m.live(k)
				if err != nil || deleted != (v != nil) {
					rt.Fatalf("deleted is %v, %v", deleted, err)
				}
				if v != nil {
					m.versions = append(m.versions, modelVersion{dead: true, Fact: memory.Fact{Key: k, Version: v.Version + 1, Updated: m.now}})
				}
			case 4:
				must(f.ExpireFacts(f.ctx, rapid.IntRange(1, 5).Draw(rt, "limit")))(t)
			case 5, 6:
				n := memory.Note{Place: in, ID: fmt.Sprint("n", step), Body: fmt.Sprint("note ", step), Valid: span(),
					Status: rapid.SampledFrom([]memory.Status{memory.Proposed, memory.Accepted, memory.Rejected}).Draw(rt, "status")}
				if rapid.Bool().Draw(rt, "tagged") {
					n.Tags = []string{"x"}
				}
				if len(m.notes) > 0 && rapid.Bool().Draw(rt, "supersedes") {
					n.Supersedes = []string{rapid.SampledFrom(m.notes).Draw(rt, "old").ID}
				}
				saved, isNew, err := f.SaveNote(f.ctx, n)
				if err != nil || !isNew {
					rt.Fatal(isNew, err)
				}
				m.notes = append(m.notes, &saved)
			case 7:
				if len(m.notes) > 0 {
					n := rapid.SampledFrom(m.notes).Draw(rt, "note")
					n.Status = rapid.SampledFrom([]memory.Status{memory.Accepted, memory.Rejected}).Draw(rt, "new status")
					must(f.SetStatus(f.ctx, in.Namespace, n.ID, n.Status))(t)
				}
			case 8:
				if len(m.notes) > 0 {
					n := rapid.SampledFrom(m.notes).Draw(rt, "note")
					if n.Valid.To.IsZero() || m.now.Before(n.Valid.To) {
						n.Valid.To = m.now
					}
					must(f.Retire(f.ctx, in.Namespace, n.ID, time.Time{}))(t)
				}
			case 9:
				if len(m.notes) > 0 {
					n := rapid.SampledFrom(m.notes).Draw(rt, "note")
					must(f.ForgetItem(f.ctx, memory.Ref{Namespace: in.Namespace, Lane: memory.NoteLane, ID: n.ID}))(t)
					m.notes = slices.DeleteFunc(m.notes, func(x *memory.Note) bool { return x == n })
					for _, x := range m.notes {
						x.Supersedes = slices.DeleteFunc(x.Supersedes, func(id string) bool { return id == n.ID })
					}
				}
			}
			for _, at := range []memory.Moment{{}, {Valid: moment("valid")}, {System: moment("system")}, {Valid: moment("valid too"), System: moment("system too")}} {
				var want []memory.Fact
				for _, k := range []string{"a", "b"} {
					x := m.get(k, at)
					got, err := f.FactAt(f.ctx, in.Namespace, k, at)
					if x == nil {
						if cairn.CodeOf(err, "") != memory.NotFound {
							rt.Fatalf("%s at %+v: %s, %v, want nothing", k, at, marshal(got), err)
						}
						continue
					}
					if err != nil || marshal(got) != marshal(*x) {
						rt.Fatalf("%s at %+v: %s, %v, want %s", k, at, marshal(got), err, marshal(*x))
					}
					want = append(want, *x)
				}
				if got, err := f.FactsAt(f.ctx, in.Namespace, at); err != nil || marshal(got) != marshal(want) {
					rt.Fatalf("at %+v: %s, %v, want %s", at, marshal(got), err, marshal(want))
				}
			}
			for _, tag := range []string{"", "x"} {
				scope := memory.Scope{Bank: in.Bank, Lanes: []memory.Lane{memory.NoteLane}}
				if tag != "" {
					scope.Tags = [][]string{{tag}}
				}
				want := m.counting(tag)
				for name, got := range map[string][]string{"notes": f.ids(scope), "candidates": f.find(scope, "note"), "items": itemsIn(t, f, scope)} {
					slices.Sort(got)
					if !slices.Equal(got, want) {
						rt.Fatalf("%s with tag %q: %v, want %v", name, tag, got, want)
					}
				}
			}
		}
	})
}
