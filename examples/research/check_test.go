package research

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/internal/schema"
)

// TestTheCheckRejects: what does not rest on a quote, whatever it looks like.
func TestTheCheckRejects(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("ab", 32)
	twins := "c0c0c0c0c0c0"
	e := evidence{
		findings: map[string][]Finding{
			a:                               {{"It burned.", "x.txt", "burned all night"}, {"It smoked.", "x.txt", "smoked the glass"}},
			b:                               {{"It was dear.", "y.txt", "310 crowns a year"}},
			twins + strings.Repeat("1", 52): {{}}, twins + strings.Repeat("2", 52): {{}},
		},
		verify: func(f Finding) error {
			if f.Quote == "smoked the glass" {
				return errors.New("x.txt does not say that")
			}
			return nil
		},
	}
	const one, two = "[artifact:aaaaaaaaaaaa#1]", "[artifact:abababababab#1]"
	for claim, want := range map[string]string{
		"It burned " + one + ".":                             "",
		"It burned. " + one:                                  "",
		"It burned [artifact:" + a + "#1].":                  "",
		"It burned, and was dear " + one + " " + two + ".":   "",
		"It burned " + one + ". Dear it was " + two + ".":    "",
		"It burned. " + one + " Dear it was. " + two:         "",
		"It cost 3.5 crowns, or 4 a day, e.g. in May " + two: "",
		" It burned\n" + one + " ":                           `"It burned" has no reference`,
		"It burned.":                                         "no reference",
		"":                                                   "it is empty",
		" \n ":                                               "it is empty",
		"It burned (artifact aaaaaaaaaaaa, 1).":              "no reference",
		"It burned [artifact:aaaaaaaaaaa#1].":                "no reference",
		"It burned [artifact:AAAAAAAAAAAA#1].":               "no reference",
		"It burned [artifact:" + a + "1#1].":                 "no reference",
		"It burned [artifact:aaaaaaaaaaaa#1, #2].":           "no reference",
		"It burned " + one + ". It was dear.":                `"It was dear." has no reference`,
		"It was dear. It burned " + one + ".":                `"It was dear." has no reference`,
		"It burned. " + one + " It was dear.":                `"It was dear." has no reference`,
		"It was dear! “It burned” " + one + ".":              `"It was dear!" has no reference`,
		"Was it? 20 say so " + one + ".":                     `"Was it?" has no reference`,
		"It was dear\nIt burned " + one:                      `"It was dear" has no reference`,
		"It burned [artifact:dddddddddddd#1].":               "0 artifacts of findings",
		"It burned [artifact:" + twins + "#1].":              "2 artifacts of findings",
		"It burned [artifact:aaaaaaaaaaaa#0].":               "the artifact has 2 findings",
		"It burned [artifact:aaaaaaaaaaaa#3].":               "the artifact has 2 findings",
		"It smoked [artifact:aaaaaaaaaaaa#2].":               "x.txt does not say that",
		"It burned " + one + " [artifact:aaaaaaaaaaaa#2].":   "x.txt does not say that",
	} {
		out := e.judge(Draft{Claims: []string{claim}})
		switch {
		case want == "" && (len(out.Claims) != 1 || len(out.Claims[0].Cites) == 0 || len(out.Rejected) > 0):
			t.Errorf("%q does not pass: %+v", claim, out)
		case want != "" && (len(out.Claims) > 0 || len(out.Rejected) != 1 || !strings.Contains(out.Rejected[0].Why, want)):
			t.Errorf("%q: %+v, want %s", claim, out, want)
		}
	}
	out := e.judge(Draft{Claims: []string{"It burned, and was dear " + one + " " + two + "."}})
	if want := []Cited{{a, 1, "x.txt", "burned all night"}, {b, 1, "y.txt", "310 crowns a year"}}; !slices.Equal(out.Claims[0].Cites, want) {
		t.Errorf("%+v", out)
	}
}

// TestAPlanFits: what can't become paths is refused as the planner's answer, and so goes back to it.
func TestAPlanFits(t *testing.T) {
	parts := func(names ...string) (p Plan) {
		for _, name := range names {
			p.Parts = append(p.Parts, Part{name, "What is it?"})
		}
		return p
	}
	if err := schema.Validate(parts("fuel", "the lens", "who pays?")); err != nil {
		t.Error(err)
	}
	for what, bad := range map[string]Plan{
		"two": parts("a", "b"), "six": parts("a", "b", "c", "d", "e", "f"), "twice": parts("a", "b", "a"), "slash": parts("a", "b", "c/d"),
		"bracket": parts("a", "b", "c[0]"), "number": parts("a", "b", "#1"), "control": parts("a", "b", "c\n"), "none": parts("a", "b", ""),
	} {
		if schema.Validate(bad) == nil {
			t.Errorf("%s: %v passes", what, bad)
		}
	}
}
