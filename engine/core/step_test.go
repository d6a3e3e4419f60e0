package core_test

import (
	"context"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

type ctx = context.Context

const out cairn.Key[int] = "out"

func TestSequenceRunsInOrder(t *testing.T) {
	s := start(t, flow(func(v *cairn.View) cairn.Node { return seq(T("a"), T("b"), T("out")) }))
	s.wants("a")
	s.done("a", 1)
	s.wants("b")
	s.done("b", 2)
	s.wants("out")
	s.done("out", 3)
	s.status(core.Finished)
	s.check()
	if r, ok := s.m.Result(); !ok || string(r) != "3" {
		t.Fatalf("result %s", r)
	}
	for _, b := range s.bodies {
		t.Log(string(b))
	}
}

func TestLoopRunsUntil(t *testing.T) {
	s := start(t, flow(func(v *cairn.View) cairn.Node {
		return cairn.Loop{ID: "work", Max: 10, Until: func(v *cairn.View) bool { n, ok := out.Get(v); return ok && n >= 2 },
			Body: func(v *cairn.View) cairn.Node { return T("out") }}
	}))
	s.wants("work[0]/out")
	s.done("work[0]/out", 0)
	s.wants("work[1]/out")
	s.done("work[1]/out", 1)
	s.wants("work[2]/out")
	s.done("work[2]/out", 2)
	s.status(core.Finished)
	s.check()
}

func TestTryCatchesAndRunsFinally(t *testing.T) {
	s := start(t, flow(func(v *cairn.View) cairn.Node {
		return seq(cairn.Try{
			Body:    par(T("a"), T("b")),
			Catch:   func(v *cairn.View, f cairn.Failure) cairn.Node { return T("catch") },
			Finally: func(v *cairn.View) cairn.Node { return T("finally") },
		}, T("out"))
	}))
	s.wants("a", "b")
	s.fail("a", "BROKEN")
	s.wants() // b was told to stop and has not settled: Catch waits
	s.done("b", 1)
	s.wants("catch")
	s.done("catch", 1)
	s.wants("finally")
	s.done("finally", 1)
	s.wants("out")
	s.done("out", 1)
	s.status(core.Finished)
	s.check()
}
