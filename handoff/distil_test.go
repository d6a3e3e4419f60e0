package handoff_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/internal/schema"
	"pgregory.net/rapid"
)

type note struct {
	ID     int     `json:"id"`
	Weight float64 `json:"weight,omitempty"`
	Text   string  `json:"text,omitempty"`
}

func (n note) priority() float64 { return n.Weight }

type state struct {
	Goal      string   `json:"goal,omitempty"`
	Learnings []note   `json:"learnings"`
	Open      []string `json:"open,omitempty"`
	Forgotten int      `json:"forgotten,omitempty"`
	Closed    int      `json:"closed"`
	Fixed     string   `json:"fixed"`
}

func fit(s *state, bytes int) ([]int, error) {
	return handoff.Distil(s, bytes, handoff.Text(&s.Goal),
		handoff.ByPriority(&s.Learnings, note.priority).Count(&s.Forgotten),
		handoff.Newest(&s.Open).Count(&s.Closed))
}

func states() *rapid.Generator[state] {
	return rapid.Custom(func(t *rapid.T) state {
		s := state{Goal: texts().Draw(t, "goal"), Open: rapid.SliceOfN(texts(), 0, 9).Draw(t, "open"), Fixed: texts().Draw(t, "fixed"),
			Forgotten: rapid.SampledFrom([]int{0, 0, 7, 98}).Draw(t, "forgotten")}
		for i := range rapid.IntRange(0, 9).Draw(t, "learnings") {
			s.Learnings = append(s.Learnings, note{i, float64(rapid.IntRange(0, 3).Draw(t, "weight")), texts().Draw(t, "text")})
		}
		if rapid.Bool().Draw(t, "empty") && s.Learnings == nil {
			s.Learnings = []note{}
		}
		return s
	})
}

func encoded(t interface{ Fatal(...any) }, v any) string {
	raw, err := schema.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestDistilKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		before := encoded(t, s)
		bytes := rapid.IntRange(0, len(before)+3).Draw(t, "bytes")

		got := s
		left, err := fit(&got, bytes)
		after := encoded(t, got)
		if err != nil {
			if left != nil || !reflect.DeepEqual(got, s) {
				t.Fatalf("%v, and left %v and %s", err, left, after)
			}
			empty := state{Learnings: s.Learnings[:0:0], Forgotten: s.Forgotten + len(s.Learnings), Closed: s.Closed + len(s.Open), Fixed: s.Fixed}
			if n := len(encoded(t, empty)); n <= bytes {
				t.Fatalf("%v, but empty it has %d", err, n)
			}
			return
		}
		if len(after) > bytes || !utf8.ValidString(after) || !json.Valid([]byte(after)) {
			t.Fatalf("%d bytes of %d: %s", len(after), bytes, after)
		}
		if encoded(t, s) != before {
			t.Fatalf("the original is now %s, was %s", encoded(t, s), before)
		}
		if len(before) <= bytes && after != before {
			t.Fatalf("it fitted, and is now %s", after)
		}

		// Nothing else changed, order is kept, all is accounted for.
		if got.Fixed != s.Fixed {
			t.Fatal("what is no part was changed")
		}
		if !within(got.Learnings, s.Learnings) || !within(got.Open, s.Open) {
			t.Fatalf("%s is not within %s", after, before)
		}
		if !reflect.DeepEqual(left[1:], []int{len(s.Learnings) - len(got.Learnings), len(s.Open) - len(got.Open)}) ||
			got.Forgotten != s.Forgotten+left[1] || got.Closed != s.Closed+left[2] {
			t.Fatalf("left out %v: %s of %s", left, after, before)
		}
		goal := strings.ToValidUTF8(s.Goal, "\uFFFD")
		if kept := len(goal) - left[0]; left[0] > 0 && got.Goal != "" && got.Goal != goal[:kept]+handoff.Mark || left[0] == 0 && got.Goal != goal && got.Goal != s.Goal {
			t.Fatalf("left out %d bytes of %q: %q", left[0], goal, got.Goal)
		}

		// Again, and again from the start.
		again := got
		if left, err := fit(&again, bytes); err != nil || slices.Max(left) != 0 || !reflect.DeepEqual(again, got) {
			t.Fatalf("distilled again: %v, %v, %s", left, err, encoded(t, again))
		}
		twin := s
		if _, err := fit(&twin, bytes); err != nil || !reflect.DeepEqual(twin, got) {
			t.Fatalf("an equal state: %v, %s", err, encoded(t, twin))
		}

		// The most important thing in which a larger one differs is there.
		more := s
		if _, err := fit(&more, bytes+rapid.IntRange(1, 80).Draw(t, "more")); err != nil {
			t.Fatal(err)
		}
		if slices.Compare(importance(s, more), importance(s, got)) < 0 {
			t.Fatalf("with more room %s, not %s", encoded(t, more), after)
		}
	})
}

// within says whether some is all without some of its items.
func within[T any](some, all []T) bool {
	for _, item := range all {
		if len(some) > 0 && reflect.DeepEqual(some[0], item) {
			some = some[1:]
		}
	}
	return len(some) == 0
}

// importance is how much of the goal, which learnings and how many of the newest questions there are, the most
// important first.
func importance(s, kept state) []int {
	v := []int{len(strings.TrimSuffix(kept.Goal, handoff.Mark))}
	if kept.Goal == s.Goal {
		v[0] = math.MaxInt
	}
	sorted := slices.Clone(s.Learnings)
	slices.SortStableFunc(sorted, func(a, b note) int { return int(b.Weight - a.Weight) })
	for _, n := range sorted {
		if slices.ContainsFunc(kept.Learnings, func(k note) bool { return k.ID == n.ID }) {
			v = append(v, 1)
		} else {
			v = append(v, 0)
		}
	}
	return v
}

// What a list keeps is what putting one item after the other into the whole state would keep.
func TestDistilLeavesNoRoom(t *testing.T) {
	type all struct {
		Notes []note `json:"notes,omitempty"`
		Words []string
	}
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		in := all{s.Learnings, s.Open}
		bytes := rapid.IntRange(len(`{"Words":null}`), len(encoded(t, in))+5).Draw(t, "bytes")
		got := in
		if _, err := handoff.Distil(&got, bytes, handoff.Newest(&got.Notes), handoff.Newest(&got.Words)); err != nil {
			t.Fatal(err)
		}
		want := all{nil, in.Words[:0:0]}
		for _, n := range slices.Backward(in.Notes) {
			try := want
			try.Notes = append([]note{n}, want.Notes...)
			if len(encoded(t, try)) <= bytes {
				want = try
			}
		}
		for _, w := range slices.Backward(in.Words) {
			try := want
			try.Words = append([]string{w}, want.Words...)
			if len(encoded(t, try)) <= bytes {
				want = try
			}
		}
		if encoded(t, got) != encoded(t, want) {
			t.Fatalf("%s, want %s", encoded(t, got), encoded(t, want))
		}
	})
}

func TestDistil(t *testing.T) {
	huge := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		distil func() (any, []int, error)
		want   string
		left   []int
	}{
		"the newest": {func() (any, []int, error) {
			s := []string{"a", "b", "c"}
			left, err := handoff.Distil(&s, len(`["b","c"]`), handoff.Newest(&s))
			return s, left, err
		}, `["b","c"]`, []int{1}},
		"a huge one keeps out nothing else": {func() (any, []int, error) {
			s := []string{"a", huge, "c"}
			left, err := handoff.Distil(&s, 20, handoff.Newest(&s))
			return s, left, err
		}, `["a","c"]`, []int{1}},
		"by priority, in the old order": {func() (any, []int, error) {
			s := []int{10, 99, 11, 98, 12}
			left, err := handoff.Distil(&s, len(`[99,98,12]`), handoff.ByPriority(&s, func(n int) int { return n }))
			return s, left, err
		}, `[99,98,12]`, []int{2}},
		"the first of equals": {func() (any, []int, error) {
			s := []string{"a", "b", "c"}
			left, err := handoff.Distil(&s, len(`["a","b"]`), handoff.ByPriority(&s, func(string) int { return 0 }))
			return s, left, err
		}, `["a","b"]`, []int{1}},
		"a text, as it is encoded": {func() (any, []int, error) {
			s := `"""""`
			left, err := handoff.Distil(&s, len(`"\"\"…"`), handoff.Text(&s))
			return s, left, err
		}, `"\"\"…"`, []int{3}},
		"a text that is counted": {func() (any, []int, error) {
			s := note{Text: "text that is long"}
			left, err := handoff.Distil(&s, len(`{"id":12,"text":"text…"}`), handoff.Text(&s.Text).Count(&s.ID))
			return s, left, err
		}, `{"id":13,"text":"text…"}`, []int{13}},
		"no room for a mark": {func() (any, []int, error) {
			s := "text that is long"
			left, err := handoff.Distil(&s, 4, handoff.Text(&s))
			return s, left, err
		}, `""`, []int{17}},
		"the first part takes what fits": {func() (any, []int, error) {
			s := state{Goal: "the goal", Learnings: []note{}, Open: []string{"this"}}
			left, err := fit(&s, 57)
			return s, left, err
		}, `{"goal":"the goal","learnings":[],"closed":1,"fixed":""}`, []int{0, 0, 1}},
		"nothing at all": {func() (any, []int, error) {
			s := state{Learnings: []note{{ID: 1}}, Fixed: "x"}
			left, err := handoff.Distil(&s, len(`{"learnings":[],"closed":0,"fixed":"x"}`), handoff.Newest(&s.Learnings))
			return s, left, err
		}, `{"learnings":[],"closed":0,"fixed":"x"}`, []int{1}},
		"the same part twice": {func() (any, []int, error) {
			s := []string{"a", "b", "c"}
			left, err := handoff.Distil(&s, len(`["b","c"]`), handoff.Newest(&s), handoff.Newest(&s))
			return s, left, err
		}, `["b","c"]`, []int{1, 0}},
		"a state that writes more than it has": {func() (any, []int, error) {
			s := twice{"a", "b", "c"}
			left, err := handoff.Distil(&s, len(`["b","c","b","c"]`), handoff.Newest((*[]string)(&s)))
			return s, left, err
		}, `["b","c","b","c"]`, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			s, left, err := c.distil()
			if err != nil {
				t.Fatal(err)
			}
			if got := encoded(t, s); got != c.want || !slices.Equal(left, c.left) {
				t.Errorf("%s and left out %v, want %s and %v", got, left, c.want, c.left)
			}
		})
	}
}

// twice writes all of its items twice.
type twice []string

func (s twice) MarshalJSON() ([]byte, error) {
	return json.Marshal(append(slices.Clone([]string(s)), s...))
}

func TestWhatCannotBeDistilledStaysAsItWas(t *testing.T) {
	s := state{Goal: "goal", Learnings: []note{{ID: 1, Weight: 2}}, Open: []string{"a", "b"}, Forgotten: 3, Fixed: strings.Repeat("x", 100)}
	was := s
	left, err := fit(&s, 100)
	if left != nil || err == nil || err.Error() != "the state has 202 bytes as JSON, 152 with its 3 parts empty, and may have 100: make more of it a part, or allow more" {
		t.Errorf("%v, %v", left, err)
	}
	if !reflect.DeepEqual(s, was) {
		t.Errorf("%+v, was %+v", s, was)
	}

	s.Learnings[0].Weight = math.NaN()
	var unencodable *schema.EncodeError
	if _, err := fit(&s, 100); !errors.As(err, &unencodable) {
		t.Errorf("NaN: %v", err)
	}
}

// fickle has a JSON form only as long as it is asked for the first few times.
type fickle struct {
	Notes []string
	asked *int
	limit int
}

func (f fickle) MarshalJSON() ([]byte, error) {
	if *f.asked++; *f.asked > f.limit {
		return nil, errors.New("no more")
	}
	return json.Marshal(f.Notes)
}

func TestAnErrorOnTheWayUndoesAll(t *testing.T) {
	for limit := range 20 {
		s := fickle{Notes: []string{"aaaa", "bbbb", "cccc"}, asked: new(int), limit: limit}
		text, n := "some text that is far too long", 1
		_, err := handoff.Distil(&s, 16, handoff.Newest(&s.Notes).Count(&n), handoff.Text(&text))
		if err == nil {
			if limit < 4 {
				t.Errorf("limit %d: no error", limit)
			}
			continue
		}
		if len(s.Notes) != 3 || n != 1 || text != "some text that is far too long" {
			t.Errorf("limit %d: %v leaves %q, %d, %q", limit, err, s.Notes, n, text)
		}
	}
}
