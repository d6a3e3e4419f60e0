package cache_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/cache"
)

func key(t rapid.TB, in cache.Inputs) string {
	t.Helper()
	k, err := cache.Key(in)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// changes are all that a key covers, one after the other.
var changes = map[string]func(in *cache.Inputs){
	"input":    func(in *cache.Inputs) { in.Input = json.RawMessage(`{"another":true}`) },
	"no input": func(in *cache.Inputs) { in.Input = nil },
	"identity": func(in *cache.Inputs) { in.Identity += "x" },
	"schema":   func(in *cache.Inputs) { in.Schema += "x" },
	"version":  func(in *cache.Inputs) { in.Policy.Version += "x" },
	"key":      func(in *cache.Inputs) { in.Policy.Key += "x" },
	"scope": func(in *cache.Inputs) {
		if in.Policy.Scope = "global"; in.Policy.Key == "" {
			in.Policy.Key = in.Path
		}
	},
}

func TestKeyCoversItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,4}`)
		in := cache.Inputs{
			Policy: cache.Policy{Scope: rapid.SampledFrom([]cache.Scope{cache.Run, cache.Workflow}).Draw(t, "scope"),
				Key: rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "key"), Version: rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "version")},
			Run: name.Draw(t, "run"), Workflow: name.Draw(t, "workflow"), Path: name.Draw(t, "path"),
			Identity: name.Draw(t, "identity"), Schema: name.Draw(t, "schema"), Input: json.RawMessage(`{"a":1}`),
		}
		was := key(t, in)
		if key(t, in) != was || len(was) != 64 {
			t.Fatalf("%+v has the keys %s and %s", in, was, key(t, in))
		}
		for what, change := range changes {
			other := in
			if change(&other); key(t, other) == was {
				t.Fatalf("another %s, and the same key: %+v", what, in)
			}
		}
		for what, c := range map[string]struct {
			change  func(in *cache.Inputs)
			covered bool
		}{
			"run":       {func(in *cache.Inputs) { in.Run += "x" }, in.Policy.Scope == cache.Run},
			"workflow":  {func(in *cache.Inputs) { in.Workflow += "x" }, in.Policy.Scope == cache.Workflow},
			"path":      {func(in *cache.Inputs) { in.Path += "x" }, in.Policy.Key == ""},
			"TTL":       {func(in *cache.Inputs) { in.Policy.TTL++ }, false},
			"iteration": {func(in *cache.Inputs) { in.Path = "loop[20]/" + in.Path }, false},
		} {
			some, other := in, in
			if what == "iteration" {
				some.Path = "loop[1]/" + in.Path
			}
			if c.change(&other); (key(t, other) != key(t, some)) != c.covered {
				t.Fatalf("another %s, covered %t: %+v", what, c.covered, in)
			}
		}
	})
}

// The order in which an object's members stand, and how its numbers are spelt, do not matter.
func TestKeyIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.MapOf(rapid.StringMatching(`[a-zé"]{1,3}`), rapid.Int()).Draw(t, "object")
		var parts []string
		for name, n := range members {
			quoted, _ := json.Marshal(name)
			parts = append(parts, fmt.Sprintf("%s:%d", quoted, n))
		}
		slices.Sort(parts)
		some := cache.Inputs{Input: json.RawMessage("{" + strings.Join(parts, ",") + "}")}
		shuffled := rapid.Permutation(parts).Draw(t, "order")
		other := cache.Inputs{Input: json.RawMessage("{ " + strings.Join(shuffled, " , ") + " }")}
		if key(t, some) != key(t, other) {
			t.Fatalf("%s and %s have two keys", some.Input, other.Input)
		}
	})
}

// Stored results are found by their keys: these must not change between versions.
func TestKeyIsPinned(t *testing.T) {
	for _, c := range []struct {
		in   cache.Inputs
		want string
	}{
		{cache.Inputs{Run: "r", Workflow: "w", Path: "work[3]/step", Input: json.RawMessage(`"ask"`), Identity: "m", Schema: "s"}, "664e8cbef87d"},
		{cache.Inputs{Policy: cache.Policy{Scope: cache.Workflow, Version: "2"}, Run: "r", Workflow: "w", Path: "step", Schema: "s"}, "0e31e96076d4"},
		{cache.Inputs{Policy: cache.Policy{Scope: cache.Global, Key: "k"}, Run: "r", Workflow: "w", Path: "step", Schema: "s"}, "7250d2db49b2"},
	} {
		if got := key(t, c.in)[:12]; got != c.want {
			t.Errorf("key of %+v begins %s, want %s", c.in, got, c.want)
		}
	}
}

func TestKeyOfAnInputWithoutCanonicalForm(t *testing.T) {
	for _, input := range []string{`{"a":1,"a":2}`, `{`} {
		if k, err := cache.Key(cache.Inputs{Input: json.RawMessage(input)}); err == nil {
			t.Errorf("%s has the key %s", input, k)
		}
	}
}

func TestTask(t *testing.T) {
	for path, want := range map[string]string{"a": "a", "s/a": "s/a", "l[3]/a": "l/a", "l[0]/m[12]/s/a": "l/m/s/a"} {
		if got := cache.Task(path); got != want {
			t.Errorf("%s without iterations: %s", path, got)
		}
	}
}
