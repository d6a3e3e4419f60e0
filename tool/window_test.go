package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/tool"
)

type sized struct {
	Bytes int `json:"bytes"`
}

func longTools() []cairn.Tool {
	return []cairn.Tool{
		tool.New("text", "Long.", func(_ context.Context, in sized) (string, error) { return strings.Repeat("ü\n", in.Bytes/3), nil }),
		tool.New("list", "Long.", func(_ context.Context, in sized) ([]int, error) { return make([]int, in.Bytes/2), nil }),
		tool.New("fails", "Fails.", func(context.Context, struct{}) (string, error) { return "", errors.New(strings.Repeat("e", 20_000)) }),
	}
}

func TestLongAnswersArePutAside(t *testing.T) {
	s := &shelf{}
	ctx := withArtifacts(t.Context(), s)
	k := kitOf(t, append(tool.Offload{}.Wrap(longTools()), tool.ReadArtifact())...)

	// 16 KiB stay, one byte more does not. A text counts as text: its \n are two bytes of JSON.
	if got, err := k.call(ctx, "text", in{"bytes": 3 * 5461}); err != nil || len(got) != 3*5461 {
		t.Errorf("a short answer: %d bytes, %v", len(got), err)
	}
	raw, err := k.call(ctx, "text", in{"bytes": 3 * 5462})
	var ref tool.Reference
	if err != nil || json.Unmarshal([]byte(raw), &ref) != nil {
		t.Fatalf("%.200s, %v", raw, err)
	}
	if ref.Artifact.Size != 3*5462 || ref.Lines != 5462 || ref.Artifact.Producer != "plan/step" || ref.Artifact.Name != "text" || !strings.HasPrefix(ref.Head, "ü\nü") ||
		len(ref.Head) > 2<<10 || !strings.HasSuffix(ref.Head, "…") || !strings.Contains(ref.Note, "artifact_read") {
		t.Errorf("the reference is %+v", ref)
	}
	if again, _ := k.call(ctx, "text", in{"bytes": 3 * 5462}); again != raw {
		t.Error("an equal answer has another reference")
	}
	if got, err := k.call(ctx, "artifact_read", in{"artifact": ref.Artifact.Hash, "from": 5462}); err != nil || !strings.HasSuffix(got, "\nü\n") {
		t.Errorf("reading it back: %q, %v", got, err)
	}
	raw, err = k.call(ctx, "list", in{"bytes": 40_000})
	if err != nil || json.Unmarshal([]byte(raw), &ref) != nil || ref.Artifact.MediaType != "application/json" || string(s.Kept()[ref.Artifact.Hash][:4]) != "[0,0" {
		t.Errorf("%.200s, %v", raw, err)
	}
	if _, err := k.call(ctx, "fails", in{}); err == nil || len(err.Error()) != 20_000 {
		t.Errorf("an error is %v", err)
	}
	if raw, err := k.call(t.Context(), "text", in{"bytes": 30_000}); err != nil || len(raw) > 3000 || !strings.Contains(raw, "no store for the rest") {
		t.Errorf("without a store: %s, %v", raw, err)
	}

	var names []string
	mine := tool.Offload{Max: 10, Head: 4, Store: func(_ context.Context, name, _ string, _ io.Reader) (cairn.Artifact, error) {
		names = append(names, name)
		return cairn.Artifact{}, errors.New("disk full")
	}}
	k = kitOf(t, mine.Wrap(longTools())...)
	if raw, err := k.call(t.Context(), "text", in{"bytes": 30}); err != nil || !strings.Contains(raw, "has succeeded") || !strings.Contains(raw, "disk full") || len(names) != 1 {
		t.Errorf("a store that fails: %s, %v", raw, err)
	}
}

// With the store of package task an artifact is committed with the output of the attempt.
func TestArtifactsOfToolsAreTheAttempts(t *testing.T) {
	work := task.Task[string]{ID: "work", Do: func(ctx context.Context) (string, error) {
		k := kitOf(t, tool.Offload{Store: task.WriteArtifact}.Wrap(longTools())...)
		return k.call(ctx, "text", in{"bytes": 30_000})
	}}
	result, err := work.Lower().Task.Run(t.Context(), &cairn.Call{Path: "plan/work", Artifacts: &shelf{}})
	if err != nil || len(result.Artifacts) != 1 || result.Artifacts[0].Size != 30_000 || result.Artifacts[0].Producer != "plan/work" || !strings.Contains(string(result.Output), result.Artifacts[0].Hash) {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestTodo(t *testing.T) {
	var list tool.Todo
	k := kitOf(t, list.Tool())
	if list.Text() != "" {
		t.Errorf("an empty list is %q", list.Text())
	}
	k.want(t, "todo", in{}, `{"items":[],"next":1}`)
	k.want(t, "todo", in{"add": []string{"read", " write\nit ", "test"}}, `{"items":[{"id":1,"text":"read"},{"id":2,"text":"write it"},{"id":3,"text":"test"}],"next":4}`)
	k.want(t, "todo", in{"done": []int{1}, "update": []in{{"id": 2, "text": "write more"}}, "remove": []int{3}, "add": []string{"ship"}},
		`{"items":[{"done":true,"id":1,"text":"read"},{"id":2,"text":"write more"},{"id":4,"text":"ship"}],"next":5}`)
	const text = "[x] 1. read\n[ ] 2. write more\n[ ] 4. ship\n"
	if got := list.Text(); got != text {
		t.Errorf("the list is %q", got)
	}
	k.refuses(t, "todo", in{"done": []int{2, 3}, "add": []string{""}}, tool.BadTodo, "no item 3", "no text", "nothing was changed", "[ ] 2. write more")
	k.refuses(t, "todo", in{"add": make([]string, 60)}, tool.BadTodo, "at most 50")
	k.refuses(t, "todo", in{"add": []string{strings.Repeat("x", 201)}}, tool.BadTodo, "at most 200")
	if got := list.Text(); got != text {
		t.Errorf("a refused change has made %q", got)
	}

	answer, err := k["todo"].Call(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var resumed tool.Todo
	if err := resumed.Restore(answer); err != nil || resumed.Text() != text {
		t.Errorf("restored %q, %v", resumed.Text(), err)
	}
	if err := resumed.Restore(json.RawMessage(`"x"`)); !errors.Is(err, tool.BadTodo) || resumed.Text() != text {
		t.Errorf("a wrong answer: %v, %q", err, resumed.Text())
	}

	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := k.call(t.Context(), "todo", in{"add": []string{fmt.Sprint("item ", i)}}); err != nil {
				t.Error(err)
			}
			_ = list.Text()
		})
	}
	all.Wait()
	if got := len(list.List().Items); got != 23 {
		t.Errorf("%d items", got)
	}
}
