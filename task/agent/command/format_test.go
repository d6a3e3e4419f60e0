package command_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/command"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// read gives lines to a reader, and sums up what they tell.
func read(t *testing.T, r command.Reader, lines ...string) (last command.Event, usage map[string]cairn.Usage, unread int) {
	t.Helper()
	usage = map[string]cairn.Usage{}
	for _, line := range lines {
		ev, err := r.Line([]byte(line))
		if err != nil {
			unread++
			continue
		}
		for _, u := range ev.Usage {
			sum := usage[u.Model]
			sum.Input, sum.Output, sum.CacheRead, sum.CacheWrite = sum.Input+u.Input, sum.Output+u.Output, sum.CacheRead+u.CacheRead, sum.CacheWrite+u.CacheWrite
			usage[u.Model] = sum
		}
		last = ev
	}
	return last, usage, unread
}

// TestUsageIsBookedOnce: whatever a program counts together, each token is told once.
func TestUsageIsBookedOnce(t *testing.T) {
	said := func(id, parent, model string, in, out int) string {
		return fmt.Sprintf(`{"type":"assistant","parent_tool_use_id":%s,"message":{"id":%q,"model":%q,"content":[],"usage":{"input_tokens":%d,"output_tokens":%d}}}`, parent, id, model, in, out)
	}
	result := `{"type":"result","subtype":"success","result":"ok","usage":{"input_tokens":30,"output_tokens":50},"modelUsage":{"big[1m]":{"inputTokens":30,"outputTokens":50},"small":{"inputTokens":%d,"outputTokens":%d}}}`
	turn := func(in, out int) []string {
		return []string{said("a", "null", "big", 10, 1), said("a", "null", "big", 10, 1), said("a", "null", "big", 10, 5), said("s", `"toolu_1"`, "small", 4, 1), said("b", "null", "big", 20, 1),
			said("x", "null", "<synthetic>", 99, 99), fmt.Sprintf(result, in, out)}
	}
	for name, tt := range map[string]struct {
		before  command.Totals
		in, out int
	}{
		"a new session":                       {nil, 7, 9},
		"a resumed one that goes on counting": {command.Totals{"small": {Input: 100, Output: 100}}, 107, 109},
		"a resumed one that begins anew":      {command.Totals{"small": {Input: 100, Output: 100}}, 7, 9},
	} {
		_, got, _ := read(t, command.ClaudeStream(tt.before), turn(tt.in, tt.out)...)
		if got["big"] != (cairn.Usage{Input: 30, Output: 50}) || got["small"] != (cairn.Usage{Input: 7, Output: 9}) || len(got) != 2 {
			t.Errorf("claude, %s: %+v", name, got)
		}
	}
	done := `{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":60,"output_tokens":8,"reasoning_output_tokens":3}}`
	for want, before := range map[cairn.Usage]command.Totals{
		{Input: 40, CacheRead: 60, Output: 8}: nil,
		{Input: 10, CacheRead: 20, Output: 3}: {"m": {Input: 30, CacheRead: 40, Output: 5}},
	} {
		ev, got, _ := read(t, command.CodexEvents("m")(before), done)
		if got["m"] != want || !ev.Done || ev.Totals["m"].CacheRead != 60 {
			t.Errorf("codex after %v: %+v, %+v", before, got, ev)
		}
	}
}

// TestFailuresAreToldApart: what another attempt, or waiting, can mend, and what it can't.
func TestFailuresAreToldApart(t *testing.T) {
	resets := time.Now().Add(time.Hour).Unix()
	for line, want := range map[string]cairn.Code{
		`{"type":"result","is_error":true,"subtype":"success","api_error_status":401,"result":"Failed to authenticate."}`: loop.ModelAuth,
		`{"type":"result","is_error":true,"subtype":"success","api_error_status":529,"result":"Overloaded"}`:              loop.ModelOverloaded,
		`{"type":"result","is_error":true,"subtype":"success","result":"Invalid API key · Please run /login"}`:            loop.ModelAuth,
		`{"type":"result","is_error":true,"subtype":"success","result":"You've hit your limit · resets 3pm"}`:             loop.RateLimited,
		`{"type":"result","is_error":true,"subtype":"success","result":"Prompt is too long"}`:                             loop.ContextFull,
		`{"type":"result","is_error":false,"subtype":"error_max_turns"}`:                                                  loop.TurnsExhausted,
		`{"type":"result","is_error":true,"subtype":"error_during_execution","errors":["boom"]}`:                          command.Failed,
	} {
		ev, _, _ := read(t, command.ClaudeStream(nil), fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%d}}`, resets), line)
		if ev.Failure == nil || ev.Failure.Code != want || ev.Done || ev.Failure.Permanent != (want == loop.ModelAuth) {
			t.Fatalf("%s: %+v", line, ev.Failure)
		}
		if want == loop.RateLimited && ev.Failure.RetryAfter < 59*time.Minute {
			t.Errorf("%s: %+v", line, ev.Failure)
		}
	}
	for message, want := range map[string]cairn.Code{
		"unexpected status 401 Unauthorized: Missing bearer":                      loop.ModelAuth,
		"You've hit your usage limit. Upgrade to Plus":                            loop.RateLimited,
		"stream disconnected before completion: error sending request for url":    loop.ModelUnavailable,
		"Codex ran out of room in the model's context window. Start a new thread": loop.ContextFull,
		"something else": command.Failed,
	} {
		ev, _, _ := read(t, command.CodexEvents("")(nil), `{"type":"error","message":"Reconnecting... 1/5"}`, fmt.Sprintf(`{"type":"turn.failed","error":{"message":%q}}`, message))
		if ev.Failure == nil || ev.Failure.Code != want {
			t.Errorf("%s: %+v", message, ev.Failure)
		}
	}
}

// TestLinesThatAreNone: nothing that a program writes is more than a line that is left out.
func TestLinesThatAreNone(t *testing.T) {
	lines := []string{``, `x`, `[]`, `null`, `{}`, `{"type":5}`, `{"type":"assistant","message":"x"}`, `{"type":"result","usage":[]}`, `{"type":"turn.completed","usage":7}`, `{"type":"item.completed","item":[]}`}
	for name, r := range map[string]command.Reader{"claude": command.ClaudeStream(nil), "codex": command.CodexEvents("")(nil)} {
		if _, usage, unread := read(t, r, lines...); len(usage) != 0 || unread < 6 {
			t.Errorf("%s: %v, %d unread", name, usage, unread)
		}
	}
	for _, line := range []string{`{"type":"assistant","message":{"content":"text"}}`, `{"type":"assistant","error":{"a":1},"message":{"content":[{"type":"from_the_future"}]}}`, `{"type":"user","message":{"content":"hi"}}`} {
		if ev, err := command.ClaudeStream(nil).Line([]byte(line)); err != nil || ev.Calling || ev.Done {
			t.Errorf("%s: %+v, %v", line, ev, err)
		}
	}
}

func ExampleClaude() {
	agent := command.Claude(command.Config{Dir: os.TempDir(), Program: "no-such-program"})
	err := agent.Check(false)
	fmt.Println(errors.Is(err, command.Missing), strings.HasPrefix(err.Error(), "COMMAND_MISSING"))
	// Output: true true
}
