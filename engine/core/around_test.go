package core_test

import (
	"fmt"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestAround: what is around a task, the outermost budget first, with today's limits, whether it has started or not.
func TestAround(t *testing.T) {
	tree := func(most int64) cairn.Definition {
		inner := named("inner", mode(cairn.SkipExceeded, tokens(50, T("b"), T("c"))))
		return flow(mount(tokens(most, T("a"), inner), T("out")))
	}
	s := start(t, tree(1000))
	around := func(m *core.Machine, path string) (text string) {
		addresses, ledgers := m.Around(path)
		for i, address := range addresses {
			text += fmt.Sprintf("%s %d of %d; ", address, ledgers[i].SpentAt(0).Tokens, ledgers[i].Limits.Tokens.Max)
		}
		return text
	}
	want := func(m *core.Machine, path, text string) {
		t.Helper()
		if got := around(m, path); got != text {
			t.Errorf("around %s: %q, want %q", path, got, text)
		}
	}
	want(s.m, "c", "#aspects 0 of 1000; #inner 0 of 50; ")
	s.used("a", 10)
	s.used("b", 60)
	want(s.m, "a", "#aspects 70 of 1000; ")
	want(s.m, "c", "#aspects 70 of 1000; #inner 60 of 50; ")
	want(s.m, "out", "")
	want(s.m, "nothing", "")
	today := s.load(tree(2000))
	want(today, "c", "") // no plan yet
	if d := today.Verify(); d != nil {
		t.Fatal(d)
	}
	want(today, "c", "#aspects 70 of 2000; #inner 60 of 50; ")
	for path, text := range map[string]string{
		"#aspects": "Budget #aspects: tokens 70 spent of 2,000.",
		"#inner":   "Budget #inner: tokens 60 spent of 50, which is reached (skip-remaining).",
	} {
		if got := today.Why(path); got != text {
			t.Errorf("why %s: %q, want %q", path, got, text)
		}
	}
}
