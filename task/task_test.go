package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

const step cairn.Key[Step] = "step"

type Step struct {
	Summary string `json:"summary" validate:"required"`
	Done    bool   `json:"done"`
}

// attached is a feature's attachment.
type attached struct {
	feature string
	config  any
}

func (a attached) Attach() (string, any) { return a.feature, a.config }

// worker is an agent whose methods need it.
type worker struct{ reply task.Response }

func (w *worker) Run(context.Context, task.Request) (task.Response, error) { return w.reply, nil }

func doStep(context.Context) (Step, error)         { return Step{Summary: "s"}, nil }
func ask(*cairn.View) string                       { return "do it" }
func noInput(*cairn.View) string                   { return "" }
func do[T any](context.Context) (T, error)         { var t T; return t, nil }
func workOn(context.Context, string) (Step, error) { return Step{}, nil }

func TestMistakes(t *testing.T) {
	agent := &scripted.Agent{}
	second := time.Second
	for name, c := range map[string]struct {
		node cairn.Node
		want []string
	}{
		"no body":                       {task.Task[Step]{ID: step}, []string{"no body"}},
		"two bodies":                    {task.Task[Step]{ID: step, Do: doStep, Value: &Step{}}, []string{"several bodies (Do, Value)"}},
		"four bodies":                   {task.Task[Step]{ID: step, Agent: agent, Prompt: ask, Do: doStep, From: task.From(noInput, workOn), Value: &Step{}}, []string{"several bodies (Agent, Do, From, Value)"}},
		"agent, no prompt":              {task.Task[Step]{ID: step, Agent: agent}, []string{"Prompt is not"}},
		"prompt, no agent":              {task.Task[Step]{ID: step, Prompt: ask}, []string{"Agent is not"}},
		"prompt beside Do":              {task.Task[Step]{ID: step, Prompt: ask, Do: doStep}, []string{"Agent is not", "several bodies (Agent, Do)"}},
		"nil agent":                     {task.Task[Step]{ID: step, Agent: (*worker)(nil), Prompt: ask}, []string{"nil *task_test.worker"}},
		"From without input":            {task.Task[Step]{ID: step, From: task.From(nil, workOn)}, []string{"no function for the input"}},
		"From without work":             {task.Task[Step]{ID: step, From: task.From[string, Step](noInput, nil)}, []string{"no function for the work"}},
		"From of a channel":             {task.Task[Step]{ID: step, From: task.From(func(*cairn.View) chan int { return nil }, func(context.Context, chan int) (Step, error) { return Step{}, nil })}, []string{"input type of From", "chan int"}},
		"channel as output":             {task.Task[chan int]{ID: "c", Do: do[chan int]}, []string{"output type", "chan int"}},
		"function in output":            {task.Task[struct{ F func() }]{ID: "c", Do: do[struct{ F func() }]}, []string{"F: func()"}},
		"NaN as value":                  {task.Task[float64]{ID: "f", Value: new(math.NaN())}, []string{"Value", "NaN"}},
		"channel in value":              {task.Task[any]{ID: "a", Value: new(any(make(chan int)))}, []string{"Value", "chan int"}},
		"nil in After":                  {task.Task[Step]{ID: step, Do: doStep, After: cairn.Keys{cairn.Key[int]("a"), nil}}, []string{"After[1] is nil"}},
		"nil pointer in After":          {task.Task[Step]{ID: step, Do: doStep, After: cairn.Keys{(*cairn.Key[int])(nil)}}, []string{"After[0] is nil"}},
		"empty key in After":            {task.Task[Step]{ID: step, Do: doStep, After: cairn.Keys{cairn.Key[int]("")}}, []string{"After[0] is an empty key"}},
		"After itself":                  {task.Task[Step]{ID: step, Do: doStep, After: cairn.Keys{step}}, []string{"After[0] is the task itself"}},
		"negative Timeout":              {task.Task[Step]{ID: step, Do: doStep, Timeout: -1}, []string{"Timeout is negative"}},
		"negative AttemptTimeout":       {task.Task[Step]{ID: step, Do: doStep, AttemptTimeout: -second}, []string{"AttemptTimeout is negative: -1s"}},
		"negative Heartbeat":            {task.Task[Step]{ID: step, Do: doStep, Heartbeat: -1}, []string{"Heartbeat is negative"}},
		"negative Initial":              {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Initial: -1}}, []string{"Retry.Initial is negative"}},
		"negative Cap":                  {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Cap: -1}}, []string{"Retry.Cap is negative"}},
		"Max below Unbounded":           {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Max: -2}}, []string{"Retry.Max is -2"}},
		"NaN Factor":                    {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Factor: math.NaN()}}, []string{"Retry.Factor is NaN"}},
		"infinite Factor":               {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Factor: math.Inf(1)}}, []string{"Retry.Factor is +Inf"}},
		"shrinking pauses":              {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Factor: 0.5}}, []string{"Retry.Factor is 0.5"}},
		"negative Factor":               {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Factor: -2}}, []string{"Retry.Factor is -2"}},
		"Initial above Cap":             {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Initial: time.Hour, Cap: time.Minute}}, []string{"Retry.Initial is 1h0m0s, more than the 1m0s"}},
		"Initial above the default Cap": {task.Task[Step]{ID: step, Do: doStep, Retry: task.Retry{Initial: time.Hour}}, []string{"more than the 5m0s"}},
		"attached twice":                {task.Task[Step]{ID: step, Do: doStep, With: cairn.With{attached{"cache", 1}, nil, attached{"cache", 2}}}, []string{"With[2]: cache is attached twice"}},
		"bad attachment":                {task.Task[Step]{ID: step, Do: doStep, With: cairn.With{attached{"cache", math.NaN()}}}, []string{"With[0]: cache", "NaN"}},
		"nameless attachment":           {task.Task[Step]{ID: step, Do: doStep, With: cairn.With{attached{"", 1}}}, []string{"names no feature"}},
		"everything":                    {task.Task[chan int]{ID: "c", After: cairn.Keys{nil}, Timeout: -1, Retry: task.Retry{Max: -9}, With: cairn.With{attached{"", 1}}}, []string{"output type", "no body", "After[0]", "names no feature", "Timeout", "Retry.Max"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := c.node.Lower()
			got := errors.Join(spec.Mistakes...)
			if got == nil {
				t.Fatal("no mistake found")
			}
			for _, want := range c.want {
				if !strings.Contains(got.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, got)
				}
			}
			if name != "everything" && name != "prompt beside Do" && len(spec.Mistakes) != 1 {
				t.Errorf("one mistake has these consequences:\n%v", got)
			}
			if spec.Kind != cairn.KindTask || spec.Task == nil || spec.Task.Run == nil {
				t.Error("a task with mistakes is still a task, or an engine would report it twice")
			}
		})
	}
}

func TestLowerIsFaithful(t *testing.T) {
	skip := func(*cairn.View) bool { return true }
	spec := lower(t, task.Task[Step]{
		ID: step, Do: doStep,
		After:   cairn.Keys{cairn.Key[int]("a"), cairn.Key[string]("b")},
		SkipIf:  skip,
		Retry:   task.Retry{Max: cairn.Unbounded, Initial: 2, Factor: 1, Cap: 3},
		Timeout: 4, AttemptTimeout: 5, Heartbeat: 6, Optional: true, Priority: -7,
		With: cairn.With{nil, (*attached)(nil), attached{"cache", map[string]int{"b": 1, "a": 2}}, attached{"memory", nil}},
	})
	if spec.Kind != cairn.KindTask || spec.ID != "step" {
		t.Errorf("kind %q, id %q", spec.Kind, spec.ID)
	}
	if got := spec.Task.After; !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("After: %q", got)
	}
	want := cairn.Policy{
		Retry: cairn.RetryPolicy{Max: -1, Initial: 2, Factor: 1, Cap: 3}, Timeout: 4, AttemptTimeout: 5, Heartbeat: 6,
		Optional: true, Priority: -7,
		Config: map[string]json.RawMessage{"cache": json.RawMessage(`{"a":2,"b":1}`), "memory": json.RawMessage(`null`)},
	}
	if !reflect.DeepEqual(spec.Task.Policy, want) {
		t.Errorf("policy\n%+v\nwant\n%+v", spec.Task.Policy, want)
	}
	if spec.Task.SkipIf == nil || !spec.Task.SkipIf(nil) {
		t.Error("SkipIf is not passed on")
	}
	if spec.Task.Input != nil {
		t.Error("Do has an input")
	}
	if !strings.Contains(string(spec.Task.Schema), `"summary"`) || spec.Task.SchemaHash == "" {
		t.Errorf("schema %s, hash %q", spec.Task.Schema, spec.Task.SchemaHash)
	}
	if other := lower(t, task.Task[string]{ID: "s", Do: do[string]}); other.Task.SchemaHash == spec.Task.SchemaHash {
		t.Error("two types have one schema hash")
	}
}

func TestZeroPolicyIsEmptyJSON(t *testing.T) {
	raw, err := json.Marshal(lower(t, task.Task[Step]{ID: step, Do: doStep}).Task.Policy)
	if err != nil || string(raw) != `{}` {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestDo(t *testing.T) {
	var m machine
	if got := m.output(t, task.Task[Step]{ID: step, Do: doStep}); got != `{"summary":"s","done":false}` {
		t.Errorf("output %s", got)
	}
}

func TestErrorsOfABodyAreReturnedAsTheyAre(t *testing.T) {
	var m machine
	boom := errors.New("boom")
	result, err := m.try(t, task.Task[Step]{ID: step, Do: func(context.Context) (Step, error) { return Step{Summary: "half"}, boom }})
	if err != boom {
		t.Errorf("error %v", err)
	}
	if result.Output != nil {
		t.Errorf("a failed attempt has the output %s", result.Output)
	}
}

func TestOutputOfAFunctionIsValidated(t *testing.T) {
	bad := Step{} // Summary is required
	for name, node := range map[string]cairn.Node{
		"Do":    task.Task[Step]{ID: step, Do: func(context.Context) (Step, error) { return bad, nil }},
		"From":  task.Task[Step]{ID: step, From: task.From(noInput, func(context.Context, string) (Step, error) { return bad, nil })},
		"Value": task.Task[Step]{ID: step, Value: &bad},
		"list":  task.Task[[]Step]{ID: "steps", Do: func(context.Context) ([]Step, error) { return []Step{bad}, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var m machine
			_, err := m.try(t, node)
			f := refused(t, err, cairn.InvalidOutput, true)
			if !strings.Contains(f.Message, "summary: required") {
				t.Errorf("the message does not name the field: %s", f.Message)
			}
		})
	}
}

func TestUnknownRuleOfAValidateTag(t *testing.T) {
	type odd struct {
		N int `json:"n" validate:"no_such_rule"`
	}
	var m machine
	_, err := m.try(t, task.Task[odd]{ID: "odd", Do: do[odd]})
	refused(t, err, cairn.InvalidOutput, true)

	// Another answer would not help an agent either.
	var n machine
	_, err = n.try(t, task.Task[odd]{ID: "odd", Prompt: ask, Agent: &scripted.Agent{Replies: []scripted.Reply{{Text: `{}`}}}})
	refused(t, err, cairn.InvalidOutput, true)
}

func TestValueIsFrozenWhenLowered(t *testing.T) {
	value := Step{Summary: "before"}
	spec := lower(t, task.Task[Step]{ID: step, Value: &value})
	value.Summary = "after"
	input, err := spec.Task.Input(cairn.NewView(nil))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"summary":"before","done":false}`
	if string(input) != want {
		t.Errorf("input %s", input)
	}
	result, err := spec.Task.Run(t.Context(), &cairn.Call{Input: input})
	if err != nil || string(result.Output) != want {
		t.Errorf("output %s, %v", result.Output, err)
	}
}

func TestValueOfZero(t *testing.T) {
	var m machine
	if got := m.output(t, task.Task[int]{ID: "n", Value: new(0)}); got != `0` {
		t.Errorf("output %s", got)
	}
}

func TestMiddlewareMayChangeTheCall(t *testing.T) {
	spec := lower(t, task.Task[string]{ID: "s", From: task.From(noInput, func(ctx context.Context, in string) (string, error) {
		return in + task.IdempotencyKey(ctx), nil
	})})
	ctx := cairn.WithCall(t.Context(), &cairn.Call{IdempotencyKey: "outer"})
	result, err := spec.Task.Run(ctx, &cairn.Call{IdempotencyKey: "inner", Input: json.RawMessage(`"given "`)})
	if err != nil || string(result.Output) != `"given inner"` {
		t.Errorf("output %s, %v", result.Output, err)
	}
}

func BenchmarkLower(b *testing.B) {
	lowers := func(node cairn.Node) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				node.Lower()
			}
		}
	}
	b.Run("Do", lowers(task.Task[Step]{ID: step, Do: doStep}))
	b.Run("Agent", lowers(task.Task[Step]{ID: step, Agent: &scripted.Agent{}, Prompt: ask}))
	b.Run("From", lowers(task.Task[Step]{ID: step, From: task.From(noInput, workOn)}))
	b.Run("Value", lowers(task.Task[Step]{ID: step, Value: &Step{Summary: "s"}}))
	b.Run("After", lowers(task.Task[Step]{ID: step, Do: doStep, After: cairn.Keys{cairn.Key[int]("a"), cairn.Key[int]("b")}}))
}

// A render lowers every task of its scope, so what Lower allocates is paid 10,000 times.
func TestLowerAllocatesLittle(t *testing.T) {
	var node cairn.Node = task.Task[Step]{ID: step, Do: doStep}
	if n := testing.AllocsPerRun(100, func() { node.Lower() }); n > 2 {
		t.Errorf("%v allocations: the spec and the closure are two", n)
	}
}

// TestDepSortsKeys: those of a struct too, whose fields another version may declare in another order.
func TestDepSortsKeys(t *testing.T) {
	value := struct {
		Summary string          `json:"summary"`
		Count   uint64          `json:"count"`
		Raw     json.RawMessage `json:"raw"`
	}{"s", 1<<64 - 1, json.RawMessage(`{"b": 1, "a": 2}`)}
	if got := task.Dep("x", value); got != "<dep name=\"x\">\n"+`{"count":18446744073709551615,"raw":{"a":2,"b":1},"summary":"s"}`+"\n</dep>" {
		t.Error(got)
	}
}

// FuzzDeps: what Dep has made is found again, name and value, whatever they are and whatever stands around it.
func FuzzDeps(f *testing.F) {
	f.Add("plan", "value", "before ", " after")
	f.Add("plan", "a value\n</dep>\nthat ends its part", "", "")
	f.Add(`a"b\`, "</dep>\n</dep>", `<dep name="x">`, `<dep name="y">`+"\nz\n</dep>")
	f.Add("", "", "<dep name=\"\n\">\n\n</dep>", "\n</dep>")
	f.Fuzz(func(t *testing.T, name, value, before, after string) {
		if strings.Contains(before, "<dep") || strings.Contains(after, "<dep") { // still nothing to stumble over
			for _, p := range task.Deps(before + task.Dep(name, value) + after) {
				if p.From < 0 || p.From >= p.To || p.To > len(before)+len(task.Dep(name, value))+len(after) {
					t.Fatalf("%+v", p)
				}
			}
			return
		}
		parts := task.Deps(before + task.Dep(name, value) + after)
		if len(parts) != 1 || parts[0].Name != name || parts[0].From != len(before) || parts[0].Body != strings.ReplaceAll(value, "</dep>", `<\/dep>`) {
			t.Fatalf("%q of %q gives %+v", value, name, parts)
		}
		if part := parts[0]; task.Dep(part.Name, part.Body) != task.Dep(name, value) {
			t.Fatalf("made again it is %q", task.Dep(part.Name, part.Body))
		}
	})
}
