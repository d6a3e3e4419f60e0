package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

func TestForkIsAnAgents(t *testing.T) {
	agent := &scripted.Agent{}
	spec := lower(t, task.Task[string]{ID: "b", Agent: agent, Prompt: ask, Fork: cairn.Key[int]("a")})
	if spec.Task.Fork != "a" || !spec.Task.Policy.NoCache {
		t.Errorf("%+v", spec.Task)
	}
	if again := lower(t, task.Task[string]{ID: "b", Agent: agent, Prompt: ask, Fork: cairn.Key[string]("b")}); again.Task.Fork != "b" {
		t.Error("its own key is its iteration before")
	}
	for want, wrong := range map[string]task.Task[string]{
		"empty key":     {ID: "b", Agent: agent, Prompt: ask, Fork: cairn.Key[int]("")},
		"only an agent": {ID: "b", Do: func(context.Context) (string, error) { return "", nil }, Fork: cairn.Key[int]("a")},
	} {
		if got := fmt.Sprint(wrong.Lower().Mistakes); !strings.Contains(got, want) {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// fixed can't do without its tools.
type fixed struct{ asks }

func (fixed) Writes() []string { return []string{"deep"} }

func TestDelegateLowers(t *testing.T) {
	agent := &scripted.Agent{}
	plain := lower(t, task.Delegate[string]{ID: "d", Agent: agent, Prompt: ask, Dir: "x/./y"})
	if plain.Kind != cairn.KindTask || plain.Task.Writes != nil || *plain.Task.Policy.Delegate != (cairn.DelegateSpec{Dir: "x/y"}) || plain.Task.Policy.SideEffect || !plain.Task.Anonymous {
		t.Errorf("%+v", plain.Task)
	}
	shared := task.Delegate[string]{ID: "d", Agent: fixed{}, Prompt: ask, Share: 50, Writer: true}.Lower()
	inner := shared.Children[0].Lower()
	if shared.Kind != cairn.KindAspects || shared.ID != "d.share" || shared.Aspects.Tokens.Max != 50 || inner.ID != "d" || len(inner.Mistakes) > 0 ||
		fmt.Sprint(inner.Task.Writes) != "[deep .]" || !inner.Task.Policy.SideEffect || !inner.Task.Policy.Delegate.Writer {
		t.Errorf("%+v %+v %v", shared, inner.Task, inner.Mistakes)
	}
	for want, wrong := range map[string]task.Delegate[string]{
		"set Writer":          {ID: "d", Agent: fixed{}, Prompt: ask},
		"Share is negative":   {ID: "d", Agent: agent, Prompt: ask, Share: -1},
		"Agent is not":        {ID: "d", Prompt: ask},
		"what should it do":   {ID: "d", Agent: agent},
		"Agent is a nil *scr": {ID: "d", Agent: (*scripted.Agent)(nil), Prompt: ask},
	} {
		if got := fmt.Sprint(wrong.Lower().Mistakes); !strings.Contains(got, want) {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// TestADelegateWorksApart: without history, with tools that only read, told so, and with an answer that is bounded.
func TestADelegateWorksApart(t *testing.T) {
	long := strings.Repeat("word ", 4000)
	var got task.Request
	answers := asks(func(_ context.Context, req task.Request) (task.Response, error) {
		got = req
		if req.Check != nil {
			if err := req.Check(json.RawMessage(`{"summary":"` + long + `"}`)); err == nil || !strings.Contains(err.Error(), "say less") {
				t.Errorf("a long answer passes: %v", err)
			}
			return task.Response{Output: json.RawMessage(`{"summary":"` + long + `"}`)}, nil
		}
		return task.Response{Text: long}, nil
	})
	read, write := cairn.Tool{Name: "read"}, cairn.Tool{Name: "write", SideEffect: true}
	for _, writer := range []bool{false, true} {
		var m machine
		m.input = json.RawMessage(`"go"`)
		agent := reader{answers}
		run := func(node cairn.Node) (cairn.Result, error) {
			call := m.call()
			call.Attempt, call.Memory, call.Tools, call.History = 1, "<m>", []cairn.Tool{read, write}, []cairn.Message{{Role: "user", Content: "before"}}
			return lower(t, node).Task.Run(t.Context(), call)
		}
		result, err := run(task.Delegate[string]{ID: "d", Agent: agent, Prompt: ask, Writer: writer, Dir: "src"})
		var text string
		if wrong := errors.Join(err, json.Unmarshal(result.Output, &text)); wrong != nil || len(text) > 8000 || len(result.Artifacts) != 1 ||
			!strings.Contains(text, "[cut: the answer has 20000 bytes; all of it is the artifact "+result.Artifacts[0].Hash+"]") {
			t.Errorf("%v, %d bytes, %v: %s", wrong, len(text), result.Artifacts, text[max(0, len(text)-300):])
		}
		notice := map[bool]string{false: "You may read and not change anything.", true: "Change nothing outside of the directory src."}[writer]
		if got.History != nil || got.Memory != "<m>" || len(got.Tools) != map[bool]int{false: 1, true: 2}[writer] || !strings.HasPrefix(got.Prompt, "go\n\n<isolation>\n") || !strings.Contains(got.Prompt, notice) {
			t.Errorf("%+v", got)
		}
		_, err = run(task.Delegate[Step]{ID: step, Agent: agent, Prompt: ask, Writer: writer})
		refused(t, err, cairn.InvalidOutput, false)
	}
}

// shelf embeds a reader, and has something of its own that its reader knows nothing of. It would be lost.
type shelf struct {
	reader
	dir string
}

// labelled embeds one too, and says what becomes of it.
type labelled struct {
	*shelf
	label string
}

func (l labelled) ReadOnly() task.Agent { return &labelled{l.shelf, l.label} }

// gone has no agent to do without its tools.
type gone struct{ asks }

func (gone) ReadOnly() task.Agent { return (*labelled)(nil) }

// TestIsolateLosesNothing: an agent that is not what was to be isolated is refused, before anything starts.
func TestIsolateLosesNothing(t *testing.T) {
	inner := shelf{reader{asks(nil)}, "docs"}
	for want, agent := range map[string]task.Agent{
		"ReadOnly of task_test.shelf returns a task_test.reader":      inner,
		"ReadOnly of *task_test.shelf returns a task_test.reader":     &inner,
		"a method ReadOnly of its own that returns a task_test.shelf": &inner,
		"ReadOnly of task_test.gone returns no agent":                 gone{},
	} {
		if got := fmt.Sprint(task.Delegate[string]{ID: "d", Agent: agent, Prompt: ask}.Lower().Mistakes); !strings.Contains(got, want) {
			t.Errorf("%s: %s", want, got)
		}
		if agent, err := task.Isolate(agent, cairn.DelegateSpec{}); err == nil {
			t.Errorf("%T is what is left", agent)
		}
	}
	for _, fine := range []task.Agent{inner.reader, &inner.reader, labelled{&inner, "l"}, &labelled{&inner, "l"}} {
		if _, err := task.Isolate(fine, cairn.DelegateSpec{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := task.Isolate(&inner, cairn.DelegateSpec{Writer: true}); err != nil { // nothing is taken away
		t.Error(err)
	}
}

// reader can be kept from writing.
type reader struct{ task.Agent }

func (r reader) ReadOnly() task.Agent { return r }
