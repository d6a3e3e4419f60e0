package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
	"github.com/cairnrun/cairn/task"
)

// ids notes which operations a store carries out.
type ids struct {
	*lanes.Store
	seen []string
}

func (s *ids) Keep(ctx context.Context, k memory.Saved) error {
	s.seen = append(s.seen, k.ID)
	return s.Store.Keep(ctx, k)
}

func (s *ids) Apply(ctx context.Context, id string, op memory.Operation) (bool, error) {
	s.seen = append(s.seen, id)
	for _, m := range op.Turns {
		s.seen = append(s.seen, m.ID)
	}
	return s.Store.Apply(ctx, id, op)
}

// TestDeepTasksAreRemembered: what a task remembers, retains and says is named by its run and path, and is kept once however long
// these are. The names of others are what they have always been.
func TestDeepTasksAreRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		run, scope string
		want       []string
	}{
		"as always": {"r", "deep", []string{"r/deep[0]/answer#answered", "r/deep[0]/answer#asked", "r/deep[0]/answer#remember/project-shop/8776a74d5f14567b209643acab93e42c",
			"r/deep[0]/answer@2#0", "r/deep[0]/answer@2#1"}},
		"deep":          {strings.Repeat("r", cairn.MaxName), strings.Repeat("ü", cairn.MaxName/2), nil},
		"unprintable":   {"r\u00a0", "deep", nil},
		"just too long": {"r", strings.Repeat("x", 190), nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, a := openFile(t), &agent{}
				store := &ids{Store: f.store}
				f.rt.Store = store
				a.reply = func(ctx context.Context, n int, req task.Request) (string, error) {
					_, err := use(ctx, req, "remember", `{"text":"the build needs cgo"}`)
					if err == nil && n == 1 {
						err = errors.New("overloaded")
					}
					return "done", err
				}
				thread := memory.Conversation{Thread: "t", Namespace: memory.Namespace{Kind: memory.UserKind, ID: "u"}}
				f.perform(cairn.Workflow[string, string]{Name: "work", Result: answer, Render: func(_ *cairn.View, in string) cairn.Node {
					step := asking(a, in)
					step.With = cairn.With{thread}
					return memory.Memory{Bank: shop, Tools: memory.On, Retain: memory.OnComplete, Children: cairn.Nodes{cairn.Loop{
						ID: c.scope, Until: func(*cairn.View) bool { return true }, Body: func(*cairn.View) cairn.Node { return step }}}}
				}}, c.run, "mend the build")
				got := f.notes(shop)
				if len(got) != 2 || strings.Count(fmt.Sprint(got), "cgo") != 1 {
					t.Errorf("the bank has %q", got)
				}
				said, err := f.store.Messages(t.Context(), thread.Namespace, thread.Thread, memory.Window{}, 0)
				if err != nil || len(said) != 2 || said[1].Content != "done" {
					t.Errorf("the thread has %+v, %v", said, err)
				}
				names := slices.Compact(slices.Sorted(slices.Values(store.seen)))
				if len(store.seen) != 6 || len(names) != 5 || c.want != nil && !slices.Equal(names, c.want) {
					t.Errorf("the operations and messages are %q", store.seen)
				}
			})
		})
	}
}
