package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/memory"
)

// TestTagPolicy goes through every combination of bank kind, branch, scope, stream and extra tags, for reads and writes,
// and compares with the sentences of the policy.
func TestTagPolicy(t *testing.T) {
	items := [][]string{nil, {"scope:main"}, {"scope:branch", "branch:x"}, {"scope:branch", "branch:y"}, {"scope:main", "stream:s"},
		{"scope:branch", "branch:x", "stream:s"}, {"scope:main", "team:a"}, {"team:a"}, {"branch:x"}, {"stream:s", "team:a"},
		{"scope:main", "stream:s", "team:a"}, {"scope:branch", "branch:x", "stream:s", "team:a"}, {"scope:main", "branch:main"}}
	for _, bank := range []string{"user-1", "project-p", "notes"} {
		for _, branch := range []string{"", "branch:main", "branch:x"} {
			for _, scope := range []string{"", "scope:main", "scope:branch"} {
				for _, stream := range []string{"", "stream:s"} {
					for _, extra := range []string{"", "team:a"} {
						tags := slices.DeleteFunc([]string{branch, scope, stream, extra}, func(s string) bool { return s == "" })
						name := fmt.Sprint(bank, tags)
						valid := scope == "" || scope == "scope:main" && branch == "branch:main" || scope == "scope:branch" && branch == "branch:x"
						if err := memory.CheckTags(tags); (err == nil) != valid {
							t.Errorf("%s: %v, want valid: %t", name, err, valid)
						}
						if !valid {
							continue
						}
						filter := memory.RecallFilter(bank, tags, nil)
						for _, item := range items {
							has := func(tag string) bool { return tag == "" || slices.Contains(item, tag) }
							want := has(extra)
							switch {
							case strings.HasPrefix(bank, "project-"):
								want = want && has(stream) && (slices.Contains(item, "scope:main") || branch != "" && slices.Contains(item, branch))
							case bank == "notes":
								want = want && has(stream) && has(branch) && has(scope)
							}
							if got := filter.Passes(item); got != want {
								t.Errorf("%s lets %v through: %t, want %t", name, item, got, want)
							}
							if narrowed := memory.RecallFilter(bank, tags, []string{"stream:z", "team:z"}); narrowed.Passes(item) {
								t.Errorf("%s: a tool call has widened the filter to %v", name, item)
							}
						}
						written, err := memory.WriteTags(bank, tags, nil, "run")
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
						if !slices.Contains(written, "source:run") {
							t.Errorf("%s writes %v, without its source", name, written)
						}
						if bank != "notes" && !memory.RecallFilter(bank, tags, nil).Passes(written) {
							t.Errorf("%s writes %v, which it does not recall", name, written)
						}
						personal := strings.HasPrefix(bank, "user-")
						if personal && slices.ContainsFunc(written, func(tag string) bool {
							return strings.HasPrefix(tag, "branch:") || strings.HasPrefix(tag, "stream:") || strings.HasPrefix(tag, "scope:")
						}) {
							t.Errorf("%s writes %v: a user has no branches", name, written)
						}
						if strings.HasPrefix(bank, "project-") {
							want := "scope:main"
							if branch == "branch:x" {
								want = "scope:branch"
							}
							if !slices.Contains(written, want) {
								t.Errorf("%s writes %v, want %s", name, written, want)
							}
						}
					}
				}
			}
		}
	}
}

func TestBadTags(t *testing.T) {
	many := make([]string, 15)
	for i := range many {
		many[i] = fmt.Sprintf("t%d", i)
	}
	tests := map[string]error{
		"volatile":          memory.CheckTag("run:7"),
		"volatile, bare":    memory.CheckTag("attempt"),
		"unknown scope":     memory.CheckTag("scope:all"),
		"unknown source":    memory.CheckTag("source:rumour"),
		"no value":          memory.CheckTag("branch:"),
		"no colon":          memory.CheckTag("branch"),
		"blank":             memory.CheckTag(" a"),
		"empty":             memory.CheckTag(""),
		"unprintable":       memory.CheckTag("a\x00b"),
		"not UTF-8":         memory.CheckTag("a\xff"),
		"long":              memory.CheckTag(strings.Repeat("x", 129)),
		"two branches":      memory.CheckTags([]string{"branch:a", "branch:b"}),
		"two scopes":        memory.CheckTags([]string{"branch:main", "scope:main", "scope:branch"}),
		"scope alone":       memory.CheckTags([]string{"scope:main"}),
		"17":                memory.CheckTags(append(slices.Clone(many), "a", "b")),
		"scope of a user":   second(memory.WriteTags("user-1", nil, []string{"scope:main"}, "run")),
		"branch of a user":  second(memory.WriteTags("user-1", nil, []string{"branch:x"}, "run")),
		"branches by tools": second(memory.WriteTags("project-1", []string{"branch:a"}, []string{"branch:b"}, "run")),
		"volatile by tools": second(memory.WriteTags("notes", nil, []string{"session:1"}, "run")),
		"scope by tools":    second(memory.WriteTags("project-1", nil, []string{"scope:main"}, "run")),
		"17 with the added": second(memory.WriteTags("project-1", many, nil, "run")),
		"bank":              memory.CheckBank(" "),
	}
	for name, err := range tests {
		if !errors.Is(err, memory.BadTag) && !errors.Is(err, memory.BadBank) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if tags, err := memory.WriteTags("notes", many, nil, "run"); err != nil || len(tags) != 16 {
		t.Errorf("16 tags: %v, %v", tags, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestDerivedTags: who passes what was made of others would have passed each of them.
func TestDerivedTags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bank := rapid.SampledFrom([]string{"project-p", "user-1", "notes"}).Draw(t, "bank")
		tags := func(label string) []string {
			list := []string{}
			for _, of := range [][]string{{"", "branch:main", "branch:x", "branch:y"}, {"", "stream:s", "stream:t"}, {"", "team:a"}} {
				if tag := rapid.SampledFrom(of).Draw(t, label); tag != "" {
					list = append(list, tag)
				}
			}
			return list
		}
		var from [][]string
		for range rapid.IntRange(1, 4).Draw(t, "items") {
			written, err := memory.WriteTags(bank, tags("item"), nil, "run")
			if err != nil {
				t.Fatal(err)
			}
			from = append(from, written)
		}
		derived, err := memory.DerivedTags(bank, "reflection", from...)
		filter := memory.RecallFilter(bank, tags("reader"), nil)
		if err != nil {
			if !errors.Is(err, memory.BadTag) || bank != "project-p" || !slices.ContainsFunc(from, func(tags []string) bool { return !filter.Passes(tags) }) {
				t.Fatalf("%v of %v, though %v sees all of them", err, from, filter)
			}
			return
		}
		for _, tags := range from {
			if filter.Passes(derived) && !filter.Passes(tags) {
				t.Fatalf("%v of %v is shown to %v, and %v is not", derived, from, filter, tags)
			}
		}
	})
}
