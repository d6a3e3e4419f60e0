package core_test

import (
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
)

func TestBranchShowsTheSideNotTaken(t *testing.T) {
	for _, yes := range []bool{true, false} {
		s := run(t, mount(T("a"), cairn.Branch{If: yes, Then: T("then"), Else: seq(T("else"), cairn.Scope{ID: "s", Body: mount(T("x"))})}, T("out")))
		plan := s.plan()
		untaken, exit := "task else after [a] untaken", "task out after [then]"
		if !yes {
			untaken, exit = "task then after [a] untaken", "task out after [s]"
		}
		if !strings.Contains(plan, untaken) || !strings.Contains(plan, exit) {
			t.Fatalf("If %t:\n%s", yes, plan)
		}
		s.done("a", 1)
		if yes {
			s.wants("then")
			s.done("then", 1)
		} else {
			s.wants("else")
			s.all("else", "s/x")
		}
		s.wants("out")
	}
}

func TestBranchWithoutTheSideTaken(t *testing.T) {
	s := run(t, mount(T("a"), cairn.Branch{If: false, Then: T("then")}, T("out")))
	if !strings.Contains(s.plan(), "task out after [a]") {
		t.Fatalf("an empty side passes its predecessors on:\n%s", s.plan())
	}
	s.done("a", 1)
	s.wants("out")
}

func TestPlainIfMountsOrNot(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		var maybe cairn.Node
		if n, _ := cairn.Key[int]("a").Get(v); n == 1 {
			maybe = T("maybe")
		}
		return seq(T("a"), maybe, T("out"))
	})
	if strings.Contains(s.plan(), "maybe") {
		t.Fatal("what a plain if leaves out is in the plan")
	}
	s.done("a", 1)
	s.wants("maybe")
}

// TestBranchThatFlips: the side no longer taken is unmounted: what runs in it is cancelled and discarded.
func TestBranchThatFlips(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		n, _ := cairn.Key[int]("a").Get(v)
		return seq(par(T("a"), cairn.Branch{If: n == 0, Then: T("then"), Else: T("else")}), T("out"))
	})
	s.wants("a", "then")
	s.done("a", 1)
	s.stops("then")
	s.wants("else")
	s.done("then", 9)
	if st := s.m.State().Tasks["then"]; st.Status != "cancelled" || st.Output != nil {
		t.Fatalf("the side not taken has kept its result: %+v", st)
	}
	s.all("else", "out")
	s.finished(1)
}
