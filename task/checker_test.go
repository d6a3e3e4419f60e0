package task_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// broken is an agent that knows that it can't work.
type broken struct{ alone, tools error }

func (broken) Run(context.Context, task.Request) (task.Response, error) {
	return task.Response{}, errors.New("it was asked nevertheless")
}

func (b broken) Check(tools bool) error {
	if tools && b.tools != nil {
		return b.tools
	}
	return b.alone
}

func TestAgentIsChecked(t *testing.T) {
	gone, none := errors.New("the program is gone"), errors.New("it takes no tools")
	apart := task.Delegate[string]{ID: "a", Agent: broken{gone, none}, Writer: true, Prompt: func(*cairn.View) string { return "x" }}.Lower()
	if len(apart.Mistakes) != 1 || apart.Mistakes[0].Error() != "Agent: the program is gone" {
		t.Errorf("of a Delegate: %v", apart.Mistakes)
	}
	for _, tt := range []struct {
		agent            broken
		mistake, noTools string
	}{{broken{}, "", ""}, {broken{tools: none}, "", "it takes no tools"}, {broken{gone, none}, "Agent: the program is gone", ""}} {
		spec := task.Task[string]{ID: "a", Agent: tt.agent, Prompt: func(*cairn.View) string { return "x" }}.Lower()
		var said []string
		for _, err := range spec.Mistakes {
			said = append(said, err.Error())
		}
		if got := strings.Join(said, "; "); got != tt.mistake || spec.Task.NoTools != tt.noTools {
			t.Errorf("%+v: mistakes %q, no tools %q", tt.agent, got, spec.Task.NoTools)
		}
	}
}
