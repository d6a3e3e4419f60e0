package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/task"
)

// BenchmarkResume measures what a resume costs in process: folding the frames, and rendering the plan.
func BenchmarkResume(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		wf := cairn.Workflow[int, string]{Name: "sequence", Result: "last", Render: func(v *cairn.View, n int) cairn.Node {
			nodes := make(cairn.Nodes, 0, n)
			for i := range n - 1 {
				nodes = append(nodes, task.Task[string]{ID: cairn.Key[string](fmt.Sprint("t", i)), Do: do("0123456789")})
			}
			return append(nodes, task.Task[string]{ID: "last", Do: func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }})
		}}
		store := openStore(b, filepath.Join(b.TempDir(), "cairn.db"))
		started := make(chan struct{})
		e, err := engine.Open(b.Context(), engine.Config{Store: store, Workflows: []cairn.Definer{wf}, Middleware: []engine.Middleware{func(next cairn.Run) cairn.Run {
			return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
				if call.Key == "last" {
					close(started)
				}
				return next(ctx, call)
			}
		}}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.Start(b.Context(), "sequence", json.RawMessage(fmt.Sprint(n)), engine.StartOptions{ID: "r"}); err != nil {
			b.Fatal(err)
		}
		<-started
		_ = e.Close(context.Background())
		b.Run(fmt.Sprint("load/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := engine.LoadMachine(b.Context(), store, "r", wf.Define()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("frames/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := store.Frames(b.Context(), "r", 1, func(int64, []byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
		m, err := engine.LoadMachine(b.Context(), store, "r", wf.Define())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint("verify/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Forget()
				if d := m.Verify(); d != nil {
					b.Fatal(d)
				}
			}
		})
		_ = time.Now
	}
}
