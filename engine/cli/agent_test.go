package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
)

// crew is a workflow whose input says who does the work.
type crew struct {
	Job   string `json:"job" validate:"required"`
	Agent string `json:"agent,omitempty" validate:"ne=nobody"`
}

const done cairn.Key[string] = "done"

var crewed = cairn.Workflow[crew, string]{Name: "crewed", Result: done, Example: &crew{Job: "dig"},
	Ready: func(in crew) error {
		if in.Agent == "absent" {
			return errors.New("absent has not come")
		}
		return nil
	},
	Render: func(_ *cairn.View, in crew) cairn.Node {
		return cairn.Nodes{
			task.Task[bool]{ID: "waits", Do: func(ctx context.Context) (bool, error) {
				if in.Job != "wait" || crewFree.Load() {
					return true, nil
				}
				crewWaits <- struct{}{}
				<-ctx.Done()
				return false, ctx.Err()
			}},
			task.Task[string]{ID: done, Value: new(in.Agent + " will " + in.Job)},
		}
	}}

// crewWaits is told when the job "wait" is waiting, which it does unless crewFree.
var (
	crewWaits = make(chan struct{}, 1)
	crewFree  atomic.Bool
)

// up --agent sets a field of the input, and is refused with nothing written where there is none, or where it can't be.
func TestAgent(t *testing.T) {
	was := workflows
	defer func() { workflows = was }()
	workflows = append(workflows[:len(workflows):len(workflows)], crewed)
	p := newPlace(t)
	has(t, p.must(2, "up", "hold", "--agent", "me").err, "BAD_USAGE", `workflow "hold" takes no --agent`)
	has(t, p.must(2, "up", "hold", "--agent", "me", "--run-id", "r").err, "BAD_USAGE")
	has(t, p.must(2, "up", "crewed", "--agent", "nobody").err, "INVALID_INPUT", "agent")
	has(t, p.must(2, "up", "crewed", "--agent", "absent").err, "NOT_READY", "absent has not come")
	has(t, p.must(2, "up", "crewed", "--input", `{"job":"dig","agent":"absent"}`).err, "NOT_READY")
	if files := p.files(); len(files) > 0 {
		t.Errorf("it has written %q", files)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{`" will dig"`, nil},
		{`"me will dig"`, []string{"--agent", "me"}},
		{`"me will sing"`, []string{"--agent", "me", "--input", `{"job":"sing","agent":"you"}`}},
	} {
		if got := p.must(0, append([]string{"up", "crewed"}, c.args...)...); got.out != c.want+"\n" {
			t.Errorf("%q gives %s", c.args, got.out)
		}
	}
}

// A run that exists goes on with the agent it has. Another is refused.
func TestAgentOfARun(t *testing.T) {
	was := workflows
	defer func() { workflows = was }()
	workflows = append(workflows[:len(workflows):len(workflows)], crewed)
	p := newPlace(t)
	if err := os.MkdirAll(filepath.Dir(p.db()), 0o755); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: p.db()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), engine.Config{Store: store, Workflows: workflows})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), "crewed", json.RawMessage(`{"job":"wait","agent":"me"}`), engine.StartOptions{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	<-crewWaits
	if err := errors.Join(e.Close(t.Context()), store.Close()); err != nil {
		t.Fatal(err)
	}
	crewFree.Store(true)
	defer crewFree.Store(false)
	has(t, p.must(2, "up", "crewed", "--run-id", "r", "--agent", "you").err, "RUN_EXISTS run r", "leave --input and --agent out")
	if got := p.must(0, "up", "crewed", "--run-id", "r", "--agent", "me"); got.out != "\"me will wait\"\n" {
		t.Errorf("%s", got.out)
	}
}
