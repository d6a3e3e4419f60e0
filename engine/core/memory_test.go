package core_test

import (
	"fmt"
	"testing"

	"github.com/cairnrun/cairn"
)

// remembers is a memory node as the core sees it.
type remembers struct {
	cairn.MemorySpec
	children cairn.Nodes
}

func (r remembers) Lower() cairn.Spec {
	return cairn.Spec{Kind: cairn.KindMemory, Children: r.children, Memory: &r.MemorySpec}
}

// withMemory is a task with a memory of its own.
type withMemory struct {
	node
	memory cairn.MemorySpec
}

func (n withMemory) Lower() cairn.Spec {
	spec := n.node.Lower()
	spec.Task.Memory = &n.memory
	return spec
}

// TestMemoryIsInherited: what is unset is as around; a list that is empty is set; banks replace; a task's own replaces all;
// nothing leaks to what stands beside; and a cache is bypassed under every bank.
func TestMemoryIsInherited(t *testing.T) {
	outer := cairn.MemorySpec{Banks: []string{"project-p", "user-1"}, WriteBanks: []string{"user-1"}, Tags: []string{"branch:x"}, MaxTokens: 100, Tools: "on", Primers: []string{"rules"}}
	s := run(t, mount(T("plain"), par(
		remembers{outer, cairn.Nodes{par(
			T("a"),
			remembers{cairn.MemorySpec{Banks: []string{"notes"}, Tags: []string{}, Recall: "off"}, cairn.Nodes{T("b")}},
			cairn.Loop{ID: "l", Max: 2, OnMax: cairn.ReturnLast, Body: mount(remembers{cairn.MemorySpec{MaxTokens: 7}, cairn.Nodes{T("c")}})},
			cairn.Try{Body: T("d"), Catch: catch("caught")},
			withMemory{T("e"), cairn.MemorySpec{Banks: []string{"own"}}},
		)}},
		T("beside"))))
	s.done("plain", 1)
	s.all("l[0]/c")
	s.fail("d", "BROKEN")
	s.resume(s.def)
	want := map[string]string{
		"plain": "<nil>", "beside": "<nil>",
		"a":      "[project-p user-1] [user-1] [branch:x] prompt mid 100 [rules] off on",
		"b":      "[notes] [] [] off mid 100 [rules] off on",
		"l[1]/c": "[project-p user-1] [user-1] [branch:x] prompt mid 7 [rules] off on",
		"caught": "[project-p user-1] [user-1] [branch:x] prompt mid 100 [rules] off on",
		"e":      "[own] [] [] prompt mid 2048 [] off off",
	}
	for path, want := range want {
		var policy cairn.Policy
		if task := s.m.State().Tasks[path]; task.Policy != nil {
			policy = *task.Policy
		}
		got := "<nil>"
		if m := policy.Memory; m != nil {
			got = fmt.Sprint(m.Banks, m.WriteBanks, m.Tags, " ", m.Recall, " ", m.Budget, " ", m.MaxTokens, " ", m.Primers, " ", m.Retain, " ", m.Tools)
		}
		if path == "plain" {
			continue // over, and its policy is gone
		}
		if got != want || policy.NoCache != (want != "<nil>") {
			t.Errorf("%s: %s, NoCache %t, want %s", path, got, policy.NoCache, want)
		}
	}
}

func TestMemoryWithoutABank(t *testing.T) {
	s := run(t, mount(remembers{cairn.MemorySpec{Tools: "on"}, cairn.Nodes{T("a")}}, T("out")))
	s.blocked(cairn.InvalidTree, "without a bank")
	s = run(t, mount(remembers{cairn.MemorySpec{Banks: []string{"b"}}, cairn.Nodes{withMemory{T("a"), cairn.MemorySpec{Tools: "on"}}}}, T("out")))
	s.blocked(cairn.InvalidTree, "names no bank")
}

// TestMemoryWritesToItsOwnBanks: which banks a memory has may be known only from what is around it.
func TestMemoryWritesToItsOwnBanks(t *testing.T) {
	under := func(bank string) *sim {
		return run(t, mount(remembers{cairn.MemorySpec{Banks: []string{"a", "b"}}, cairn.Nodes{
			remembers{cairn.MemorySpec{WriteBanks: []string{bank}}, cairn.Nodes{T("a")}}}}, T("out")))
	}
	under("other").blocked(cairn.InvalidTree, `writes to the bank "other"`)
	under("b").done("a", 1)
}

// toolless is a task whose agent can't be given tools.
type toolless struct{ node }

func (n toolless) Lower() cairn.Spec {
	spec := n.node.Lower()
	spec.Task.NoTools = "it takes none"
	return spec
}

// TestMemoryGivesNoToolsToWhoTakesNone: which memory a task has is known when the nodes around it are.
func TestMemoryGivesNoToolsToWhoTakesNone(t *testing.T) {
	under := func(tools string) *sim {
		return run(t, mount(cairn.Scope{ID: "s", Body: mount(remembers{cairn.MemorySpec{Banks: []string{"b"}, Tools: tools}, cairn.Nodes{
			T("a"), remembers{cairn.MemorySpec{MaxTokens: 7}, cairn.Nodes{toolless{T("b")}}}}})}, T("out")))
	}
	under("on").blocked(cairn.InvalidTree, "s/b: the memory gives the task tools: it takes none")
	under("files").blocked(cairn.InvalidTree, "s/b: the memory gives the task tools: it takes none")
	under("off").done("s/a", 1)
}
