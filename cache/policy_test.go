package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/task"
)

func answer(context.Context) (string, error) { return "42", nil }

// agent answers, and says what it is if it is a model.
type agent struct{}

func (agent) Run(context.Context, task.Request) (task.Response, error) {
	return task.Response{Text: "42"}, nil
}

type model struct {
	agent
	name string
}

func (m model) Identity() string { return m.name }

func ask(*cairn.View) string { return "what?" }

func TestMistakes(t *testing.T) {
	on := func(p cache.Policy) task.Task[string] {
		return task.Task[string]{ID: "a", Do: answer, With: cairn.With{p}}
	}
	effect := on(cache.Policy{})
	effect.SideEffect = true
	anonymous := task.Task[string]{ID: "a", Agent: agent{}, Prompt: ask, With: cairn.With{cache.Policy{}}}
	versioned := anonymous
	versioned.Version = "m-1"
	said := anonymous
	said.Agent = model{name: "m-1"}
	for name, c := range map[string]struct {
		node task.Task[string]
		want string
	}{
		"the zero policy":           {on(cache.Policy{}), ""},
		"all of a policy":           {on(cache.Policy{Scope: cache.Global, TTL: time.Hour, Version: "2", Key: "k"}), ""},
		"a negative TTL":            {on(cache.Policy{TTL: -time.Millisecond}), "TTL is negative: -1ms"},
		"global without a key":      {on(cache.Policy{Scope: cache.Global}), "Scope Global needs a Key"},
		"an unknown scope":          {on(cache.Policy{Scope: "planet"}), `no Scope "planet"`},
		"a side effect":             {effect, "the task has side effects"},
		"an agent nobody knows":     {anonymous, "does not say what it is"},
		"an agent with a version":   {versioned, ""},
		"an agent that says it all": {said, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := errors.Join(c.node.Lower().Mistakes...)
			if c.want == "" && got != nil || c.want != "" && (got == nil || !strings.Contains(got.Error(), c.want)) {
				t.Errorf("mistakes: %v, want %q", got, c.want)
			}
		})
	}
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	got := cache.Policy{Scope: cache.Global, TTL: -1}.Check(&cairn.TaskSpec{Policy: cairn.Policy{SideEffect: true}})
	if got == nil || len(strings.Split(got.Error(), "\n")) != 3 {
		t.Errorf("mistakes: %v", got)
	}
}

func TestIdentity(t *testing.T) {
	identity := func(node task.Task[string]) string { return node.Lower().Task.Identity }
	some := task.Task[string]{ID: "a", Agent: model{name: "m"}, Prompt: ask}
	other := some
	other.Agent = model{name: "n"}
	versioned := some
	versioned.Version = "2"
	seen := map[string]string{}
	for name, id := range map[string]string{"an agent": identity(some), "another one": identity(other), "a version": identity(versioned),
		"a function": identity(task.Task[string]{ID: "a", Do: answer, Version: "2"})} {
		if was, twice := seen[id]; twice {
			t.Errorf("%s has the identity %q of %s", name, id, was)
		}
		seen[id] = name
	}
	equal := some
	equal.Agent = model{name: "m"} // another object, as another process has
	if identity(some) != identity(equal) {
		t.Error("equal agents have two identities")
	}
}

func TestOf(t *testing.T) {
	with := cairn.Policy{Config: map[string]json.RawMessage{"cache": json.RawMessage(`{"scope":"global","ttl":5,"key":"k"}`)}}
	if p, ok, err := cache.Of(with); err != nil || !ok || p != (cache.Policy{Scope: cache.Global, TTL: 5, Key: "k"}) {
		t.Errorf("policy %+v, %t, %v", p, ok, err)
	}
	bank, effect, broken := with, with, with
	bank.NoCache, effect.SideEffect = true, true
	for name, p := range map[string]cairn.Policy{"none": {}, "an active bank": bank, "a side effect": effect} {
		if _, ok, err := cache.Of(p); ok || err != nil {
			t.Errorf("%s: %t, %v", name, ok, err)
		}
	}
	broken.Config = map[string]json.RawMessage{"cache": json.RawMessage(`{"ttl":"soon"}`)}
	if _, _, err := cache.Of(broken); err == nil {
		t.Error("a broken policy is read")
	}
}
