package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/tool"
)

type order struct {
	Name  string            `json:"name" validate:"required,max=5" jsonschema_description:"Who."`
	Count int64             `json:"count,omitempty" jsonschema:"minimum=1,maximum=9"`
	Kind  string            `json:"kind,omitempty" jsonschema:"enum=big,enum=small"`
	Tags  []string          `json:"tags,omitempty"`
	Parts map[string]part   `json:"parts,omitempty"`
	More  *part             `json:"more,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
}

type part struct {
	Size float64 `json:"size"`
}

func echo(_ context.Context, in order) (order, error) { return in, nil }

func TestInputIsChecked(t *testing.T) {
	buy := tool.New("buy", "Buys.", echo)
	tests := []struct {
		in   string
		want []string // parts of the error; none for an input that is taken
	}{
		{`{"name":"a"}`, nil},
		{`{"name":"a","count":9,"kind":"big","tags":["x"],"parts":{"p":{"size":1.5}},"more":{"size":2},"env":{"A":"b"}}`, nil},
		{`{"name":"a","more":null,"kind":null}`, nil},
		{`{"count":1e0,"name":"a"}`, nil},
		{``, []string{"name is missing", "name (required)"}},
		{`null`, []string{"name is missing"}},
		{`{}`, []string{"name is missing"}},
		{`{"name":null}`, []string{"name is missing"}},
		{`{"name":""}`, []string{"name: required"}},
		{`{"name":"abcdef"}`, []string{"name: max=5"}},
		{`{"Name":"a"}`, []string{"name is missing", `"Name" is no field`}},
		{`{"name":"a","colour":1,"shape":2}`, []string{`"colour" is no field`, `"shape" is no field`}},
		{`{"name":7,"count":"3"}`, []string{"name has to be string, not integer", "count has to be integer, not string"}},
		{`{"name":"a","count":0}`, []string{"count has to be at least 1"}},
		{`{"name":"a","count":10}`, []string{"count has to be at most 9"}},
		{`{"name":"a","count":1.5}`, []string{"count has to be integer, not number"}},
		{`{"name":"a","count":1e999999999}`, []string{"count has to be"}},
		{`{"name":"a","count":123456789012345678901234567890}`, []string{"count has to be at most 9"}},
		{`{"name":"a","kind":"huge"}`, []string{`kind has to be one of "big", "small"`}},
		{`{"name":"a","tags":["x",1]}`, []string{"tags[1] has to be string"}},
		{`{"name":"a","parts":{"p":{"size":"x","more":1}}}`, []string{"parts.p.size has to be number", `"parts.p.more" is no field`}},
		{`{"name":"a","more":{}}`, []string{"more.size is missing"}},
		{`[]`, []string{"the input has to be object"}},
		{`"name"`, []string{"the input has to be object"}},
		{`{"name":"a"`, []string{"no JSON object"}},
		{`{"name":"a"} {}`, []string{"no JSON object"}},
		{`{"name":"a","name":"b"}`, []string{"no JSON object", "twice"}},
	}
	for _, tt := range tests {
		_, err := buy.Call(t.Context(), json.RawMessage(tt.in))
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, tool.BadInput) {
			t.Errorf("%s: code of %v", tt.in, err)
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q lacks %q", tt.in, err, part)
			}
		}
	}
}

func FuzzInput(f *testing.F) {
	buy := tool.New("buy", "Buys.", echo)
	f.Add(`{"name":"a","count":3}`)
	f.Add(`{"name":"a","parts":{"":{"size":-0.0}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		out, err := buy.Call(t.Context(), json.RawMessage(in))
		if err != nil {
			if !errors.Is(err, tool.BadInput) {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		// What was taken and came back is taken again, and comes back the same.
		again, err := buy.Call(t.Context(), out)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%q: %s and then %s, %v", in, out, again, err)
		}
	})
}

func TestOutputIsOfOneForm(t *testing.T) {
	type answer struct {
		Z int64          `json:"z"`
		A map[string]any `json:"a"`
	}
	odd := tool.New("odd", "Answers.", func(context.Context, struct{}) (answer, error) {
		return answer{math.MaxInt64, map[string]any{"b": 1.0, "a": "<&>"}}, nil
	})
	got, err := odd.Call(t.Context(), nil)
	if want := `{"a":{"a":"<&>","b":1},"z":9223372036854775807}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	nan := tool.New("nan", "Answers.", func(context.Context, struct{}) (float64, error) { return math.NaN(), nil })
	if _, err := nan.Call(t.Context(), nil); !errors.Is(err, tool.BadOutput) {
		t.Errorf("NaN: %v", err)
	}
}

func TestErrorsPanicsAndTimeouts(t *testing.T) {
	mine := errors.New("mine")
	fails := tool.New("fails", "Fails.", func(context.Context, struct{}) (int, error) { return 0, mine })
	if _, err := fails.Call(t.Context(), nil); err != mine {
		t.Errorf("an error of the function is %v", err)
	}

	panics := tool.New("panics", "Panics.", func(context.Context, struct{}) (int, error) { panic("secret") })
	_, err := panics.Call(t.Context(), nil)
	var f *cairn.Failure
	if !errors.Is(err, tool.Panicked) || !errors.As(err, &f) || !strings.Contains(f.Stack, "new_test.go") {
		t.Errorf("a panic is %v", err)
	}
	if strings.Contains(err.Error(), "goroutine") {
		t.Errorf("the text for the model has the stack: %v", err)
	}

	waits := func(ctx context.Context, _ struct{}) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
	late := tool.New("late", "Waits.", waits, tool.Timeout(time.Nanosecond))
	if _, err := late.Call(t.Context(), nil); !errors.Is(err, tool.TimedOut) {
		t.Errorf("a late call is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	patient := tool.New("patient", "Waits.", waits, tool.Timeout(time.Hour))
	if _, err := patient.Call(ctx, nil); errors.Is(err, tool.TimedOut) || !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call is %v", err)
	}
}

func TestOptions(t *testing.T) {
	var undone []order
	buy := tool.New("buy", "Buys.", echo, tool.Idempotent(), tool.Timeout(time.Second), tool.Revert(func(_ context.Context, in, out order) error {
		undone = append(undone, in, out)
		return nil
	}))
	if !buy.SideEffect || !buy.Idempotent || buy.Timeout != time.Second {
		t.Errorf("the tool is %+v", buy)
	}
	if err := buy.Revert(t.Context(), json.RawMessage(`{"name":"a"}`), json.RawMessage(`{"name":"b"}`)); err != nil {
		t.Error(err)
	}
	if len(undone) != 2 || undone[0].Name != "a" || undone[1].Name != "b" {
		t.Errorf("undone %v", undone)
	}
	if err := buy.Revert(t.Context(), nil, json.RawMessage(`[`)); !errors.Is(err, tool.BadInput) {
		t.Errorf("a broken record: %v", err)
	}
	if ask := tool.New("ask", "Asks.", echo, tool.SideEffect()); !ask.SideEffect || ask.Idempotent || ask.Revert != nil {
		t.Errorf("the tool is %+v", ask)
	}
}

func TestWrongToolsPanic(t *testing.T) {
	type unfit struct {
		C chan int `json:"c"`
	}
	type mistagged struct {
		N int `json:"n" validate:"nosuchrule"`
	}
	for name, make := range map[string]func(){
		"no name":         func() { tool.New("", "x", echo) },
		"dash":            func() { tool.New("a-b", "x", echo) },
		"umlaut":          func() { tool.New("ä", "x", echo) },
		"long":            func() { tool.New(strings.Repeat("a", tool.MaxName+1), "x", echo) },
		"no description":  func() { tool.New("a", "", echo) },
		"no function":     func() { tool.New[order, order]("a", "x", nil) },
		"channel":         func() { tool.New("a", "x", func(context.Context, unfit) (int, error) { return 0, nil }) },
		"channel out":     func() { tool.New("a", "x", func(context.Context, order) (unfit, error) { return unfit{}, nil }) },
		"no object":       func() { tool.New("a", "x", func(context.Context, []int) (int, error) { return 0, nil }) },
		"wrong tag":       func() { tool.New("a", "x", func(context.Context, mistagged) (int, error) { return 0, nil }) },
		"negative":        func() { tool.New("a", "x", echo, tool.Timeout(-1)) },
		"revert of other": func() { tool.New("a", "x", echo, tool.Revert(func(context.Context, order, int) error { return nil })) },
	} {
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, tool.Invalid) {
					t.Errorf("%s: %v", name, err)
				}
			}()
			make()
		}()
	}
}

func TestSets(t *testing.T) {
	a, b := tool.New("a", "x", echo), tool.New("b", "x", echo, tool.SideEffect())
	got, err := tool.Set([]cairn.Tool{b}, nil, []cairn.Tool{a})
	if err != nil || len(got) != 2 || got[0].Name != "b" {
		t.Errorf("got %v, %v", got, err)
	}
	if only := tool.ReadOnly(got); len(only) != 1 || only[0].Name != "a" || len(got) != 2 || got[0].Name != "b" {
		t.Errorf("read only: %v", only)
	}
	twice := b
	twice.Name = "A"
	_, err = tool.Set([]cairn.Tool{a}, []cairn.Tool{twice, {Name: "x y"}, {Name: "bare"}})
	for _, part := range []string{"two tools a and A", `"x y" is no name`, "bare has no description", "bare has no schema", "bare has no function"} {
		if !errors.Is(err, tool.Invalid) || !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
}
