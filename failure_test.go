package cairn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
)

func TestFailureIsAnError(t *testing.T) {
	f := &cairn.Failure{Code: "B", Message: "it broke", Path: "a/b", Cause: &cairn.Failure{Code: "A"}}
	err := fmt.Errorf("wait: %w", f)
	for _, code := range []cairn.Code{"A", "B"} {
		if !errors.Is(err, code) {
			t.Errorf("it does not match %s", code)
		}
	}
	if errors.Is(err, cairn.Code("C")) {
		t.Error("it matches a code that is not its own nor a cause's")
	}
	if want := "B at a/b: it broke"; f.Error() != want {
		t.Errorf("it says %q, want %q", f, want)
	}
	var got *cairn.Failure
	if !errors.As(err, &got) || got != f {
		t.Error("errors.As does not find it")
	}
}

func TestFailureIsData(t *testing.T) {
	f := cairn.Failure{Code: "B", Message: "m", Path: "p", Attempt: 2, Permanent: true, RetryAfter: time.Second, Detail: json.RawMessage(`{"a":1}`),
		Stack: "s", Cause: &cairn.Failure{Code: "A"}}
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back cairn.Failure
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(f, back) {
		t.Fatalf("%v\n%+v\n%+v", err, f, back)
	}
}

// hints is an error that says how it wants to be treated.
type hints struct {
	permanent bool
	after     time.Duration
}

func (h hints) Error() string             { return "hints" }
func (h hints) Permanent() bool           { return h.permanent }
func (h hints) RetryAfter() time.Duration { return h.after }

func TestFailureOf(t *testing.T) {
	inner := &cairn.Failure{Code: "B", Message: "m", Permanent: true, RetryAfter: time.Minute, Detail: json.RawMessage("1"), Stack: "s"}
	for _, c := range []struct {
		err  error
		want cairn.Failure
	}{
		{errors.New("plain"), cairn.Failure{Code: cairn.TaskFailed, Message: "plain"}},
		{fmt.Errorf("x: %w", cairn.Code("A")), cairn.Failure{Code: "A", Message: "x: A"}},
		{&cairn.Error{Code: "A", Message: "m"}, cairn.Failure{Code: "A", Message: "A: m"}},
		{inner, *inner},
		{fmt.Errorf("x: %w", inner), cairn.Failure{Code: "B", Message: "x: B: m", Permanent: true, RetryAfter: time.Minute, Detail: json.RawMessage("1"), Stack: "s"}},
		{fmt.Errorf("x: %w", hints{true, time.Hour}), cairn.Failure{Code: cairn.TaskFailed, Message: "x: hints", Permanent: true, RetryAfter: time.Hour}},
		{hints{}, cairn.Failure{Code: cairn.TaskFailed, Message: "hints"}},
	} {
		if got := cairn.FailureOf(c.err); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("FailureOf(%v) =\n%+v, want\n%+v", c.err, *got, c.want)
		}
	}
}
