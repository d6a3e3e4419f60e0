package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
)

const step cairn.Key[string] = "step"

// BenchmarkCall is what calls cost outside of the provider and the tools, in a run of the real engine over a real store: each
// call, of the model or of a tool, has two durable records. A turn is one of each. The target is 2 ms for a call.
func BenchmarkCall(b *testing.B) {
	for _, length := range []int{10, 100} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			store, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "cairn.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			m := &model{answer: func(_ context.Context, _ loop.Window, n int) (loop.Turn, error) {
				if n == length {
					return says("done"), nil
				}
				return wants(use(fmt.Sprint(n), "read", `{"file":"a"}`)), nil
			}}
			agent := &loop.Agent{Model: forgetful{m}, Tools: []cairn.Tool{echo("read")}}
			wf := cairn.Workflow[struct{}, string]{Name: "w", Result: step, Render: func(*cairn.View, struct{}) cairn.Node {
				return task.Task[string]{ID: step, Agent: agent, Prompt: func(*cairn.View) string { return "do it" }}
			}}
			e, err := engine.Open(b.Context(), engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close(context.Background())
			calls := 0
			for b.Loop() {
				run, err := e.Start(b.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{})
				if err != nil {
					b.Fatal(err)
				}
				if out, err := run.Wait(b.Context()); err != nil || out.Status != core.Finished {
					b.Fatalf("%+v, %v", out, err)
				}
				calls += 2*length - 1
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(calls), "µs/call")
		})
	}
}

// BenchmarkRecord is the floor: as many durable records as 100 turns have, and nothing else.
func BenchmarkRecord(b *testing.B) {
	store, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "cairn.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	const records = 400
	wf := cairn.Workflow[struct{}, string]{Name: "w", Result: step, Render: func(*cairn.View, struct{}) cairn.Node {
		return task.Task[string]{ID: step, Do: func(ctx context.Context) (string, error) {
			for i := range records {
				if _, err := task.Step(ctx, fmt.Sprint(i), func(context.Context) (string, error) { return "x", nil }); err != nil {
					return "", err
				}
			}
			return "", nil
		}}
	}}
	e, err := engine.Open(b.Context(), engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.Background())
	n := 0
	for b.Loop() {
		run, err := e.Start(b.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if out, err := run.Wait(b.Context()); err != nil || out.Status != core.Finished {
			b.Fatalf("%+v, %v", out, err)
		}
		n += records
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/record")
}

// BenchmarkCallWithoutStore is the loop alone: its records go into a map.
func BenchmarkCallWithoutStore(b *testing.B) {
	const length = 100
	m := &model{answer: func(_ context.Context, _ loop.Window, n int) (loop.Turn, error) {
		if n == length {
			return says("done"), nil
		}
		return wants(use(fmt.Sprint(n), "read", `{"file":"a"}`)), nil
	}}
	agent := &loop.Agent{Model: forgetful{m}, Tools: []cairn.Tool{echo("read")}}
	calls := 0
	for b.Loop() {
		var d desk
		if _, err := d.try(b.Context(), b, textTask(agent)); err != nil {
			b.Fatal(err)
		}
		calls += 2*length - 1
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(calls), "µs/call")
}

// forgetful keeps no windows, which would be measured too.
type forgetful struct{ m *model }

func (f forgetful) Info() loop.Info { return f.m.Info() }

func (f forgetful) Call(ctx context.Context, w loop.Window) (loop.Turn, error) {
	return f.m.answer(ctx, w, (len(w.Messages)+1)/2)
}
