package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// bank is a backend of a few texts.
type bank struct {
	memory.Store
	mu      sync.Mutex
	rows    map[string][]string // by bank
	primers map[string]map[string]string
	fail    map[string]error
	slow    map[string]time.Duration
	asked   []memory.Query
	kept    []memory.Saved
}

func (b *bank) Recall(ctx context.Context, q memory.Query) (memory.Found, error) {
	b.mu.Lock()
	b.asked = append(b.asked, q)
	b.mu.Unlock()
	select {
	case <-time.After(b.slow[q.Bank]):
	case <-ctx.Done():
		return memory.Found{}, ctx.Err()
	}
	found := memory.Found{Arms: []string{"words"}, Candidates: len(b.rows[q.Bank]), Dropped: map[string]int{"floor": 1}}
	for i, text := range b.rows[q.Bank] {
		found.Rows = append(found.Rows, memory.Row{ID: fmt.Sprintf("%s/%d", q.Bank, i), Text: text})
	}
	return found, b.fail[q.Bank]
}

func (b *bank) Primers(_ context.Context, name string, _ []string, _ memory.Filter) (map[string]memory.Primer, error) {
	primers := map[string]memory.Primer{}
	for id, text := range b.primers[name] {
		primers[id] = memory.Primer{Bank: name, ID: id, Text: text}
	}
	return primers, nil
}

func (b *bank) Keep(_ context.Context, s memory.Saved) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.kept, func(k memory.Saved) bool { return k.ID == s.ID }) {
		b.kept = append(b.kept, s)
	}
	return nil
}

// journal is a cairn.Journal in memory.
type journal map[string]json.RawMessage

func (j journal) Lookup(name string) (json.RawMessage, bool) { v, ok := j[name]; return v, ok }
func (j journal) Record(_ context.Context, name string, v json.RawMessage) error {
	j[name] = v
	return nil
}
func (j journal) Heartbeat(json.RawMessage) {}

// attempt runs a task with a memory and returns what it saw.
func attempt(t *testing.T, b *bank, j journal, m memory.Memory, body func(ctx context.Context, call *cairn.Call)) (seen cairn.Call, result cairn.Result) {
	t.Helper()
	spec := m.Lower()
	if len(spec.Mistakes) > 0 {
		t.Fatal(spec.Mistakes)
	}
	resolved := spec.Memory.Under(cairn.RootMemory)
	rt := &memory.Runtime{Store: b}
	run := rt.Middleware(func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		seen = *call
		if body != nil {
			body(ctx, call)
		}
		return cairn.Result{Output: json.RawMessage(`"all is well"`)}, nil
	})
	call := &cairn.Call{Run: "r", Workflow: "w", Path: "work[0]/step", Attempt: 2, IdempotencyKey: "r/work[0]/step", Prompted: true,
		Input: json.RawMessage(`"mend the build"`), Policy: cairn.Policy{Memory: &resolved}, Journal: j}
	result, err := run(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return seen, result
}

func TestTheBlockIsFrozenOverAttempts(t *testing.T) {
	b := &bank{rows: map[string][]string{"project-p": {"use the cache"}}, primers: map[string]map[string]string{"project-p": {"rules": "Test first."}}}
	j := journal{}
	m := memory.Memory{Bank: "project-p", Primers: []string{"rules", "absent"}}
	first, result := attempt(t, b, j, m, nil)
	if !strings.Contains(first.Memory, "Test first.") || !strings.Contains(first.Memory, "use the cache") {
		t.Fatalf("the task saw %q", first.Memory)
	}
	if len(result.Recalls) != 1 || result.Recalls[0].Status != cairn.RecallOK || fmt.Sprint(result.Recalls[0].Banks[0].Sources) != "[project-p/0]" {
		t.Fatalf("reported %+v", result.Recalls)
	}
	b.rows["project-p"] = []string{"something else"}
	again, result := attempt(t, b, j, m, nil)
	if again.Memory != first.Memory || len(b.asked) != 1 || len(result.Recalls) != 0 {
		t.Fatalf("a later attempt saw %q, after %d recalls", again.Memory, len(b.asked))
	}
	if q := b.asked[0]; q.Text != "mend the build" || q.Budget != memory.Mid || !q.Filter.Passes([]string{"scope:main"}) || q.Filter.Passes(nil) {
		t.Fatalf("asked %+v", q)
	}
}

// TestADeadBankCostsItsOwnRows: it is told, and fails nothing. All dead means no block.
func TestADeadBankCostsItsOwnRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bank{rows: map[string][]string{"a": {"from a"}, "b": {"from b"}, "c": {"from c"}},
			fail: map[string]error{"b": errors.New("no route")}, slow: map[string]time.Duration{"c": time.Hour}}
		began := time.Now()
		seen, result := attempt(t, b, journal{}, memory.Memory{Banks: []string{"a", "b", "c"}}, nil)
		if took := time.Since(began); took != memory.DefaultTimeout {
			t.Errorf("the task waited for %s", took)
		}
		report := result.Recalls[0]
		var got []string
		for _, bank := range report.Banks {
			got = append(got, fmt.Sprint(bank.Bank, " ", bank.Status, " ", bank.Error != ""))
		}
		if s := strings.Join(got, ", "); s != "a ok false, b failed true, c timeout true" || report.Status != cairn.RecallFailed {
			t.Errorf("%s: %s", report.Status, s)
		}
		if !strings.Contains(seen.Memory, "from a") || strings.Contains(seen.Memory, "from c") {
			t.Errorf("the task saw %q", seen.Memory)
		}
		t.Setenv(memory.TimeoutEnv, "100ms")
		began = time.Now()
		b.slow = map[string]time.Duration{"a": time.Hour, "b": time.Hour, "c": time.Hour}
		seen, result = attempt(t, b, journal{}, memory.Memory{Banks: []string{"a", "b", "c"}}, nil)
		if seen.Memory != "" || result.Recalls[0].Status != cairn.RecallTimeout || time.Since(began) != 100*time.Millisecond {
			t.Errorf("after %s the task saw %q: %+v", time.Since(began), seen.Memory, result.Recalls)
		}
	})
}

// TestASlowBankCostsTheToolItsOwnRows: the others are asked at the same time, not in what it leaves of the timeout.
func TestASlowBankCostsTheToolItsOwnRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bank{rows: map[string][]string{"a": {"from a"}, "b": {"from b"}}, slow: map[string]time.Duration{"a": time.Hour, "b": time.Second}}
		m := memory.Memory{Banks: []string{"a", "b"}, Recall: memory.RecallOff, Tools: memory.On}
		attempt(t, b, journal{}, m, func(ctx context.Context, c *cairn.Call) {
			out, err := c.Tools[0].Call(ctx, json.RawMessage(`{"query":"x"}`))
			if err != nil || !strings.Contains(string(out), "from b") || !strings.Contains(string(out), `"failed":["a"]`) {
				t.Errorf("recall answers %s, %v", out, err)
			}
		})
	})
}

// TestPrimersThatAreFiles: a bank's own comes in place of the file; what is not there, or leads elsewhere, is left out.
func TestPrimersThatAreFiles(t *testing.T) {
	b := &bank{primers: map[string]map[string]string{"project-p": {"own.md": "From the bank."}}}
	files := fstest.MapFS{"own.md": {Data: []byte("From the file.")}, "rules/go.md": {Data: []byte("Wrap errors.")}, "empty.md": {}}
	block, report := (&memory.Runtime{Store: b, Primers: files}).Preview(t.Context(),
		cairn.MemorySpec{Banks: []string{"project-p"}, Primers: []string{"own.md", "rules/go.md", "empty.md", "absent.md", "../own.md", "/etc/passwd"}}.Under(cairn.RootMemory), "x")
	if report.Primers != 2 || !strings.Contains(block, "### [project-p] own.md\n\nFrom the bank.") || !strings.Contains(block, "### [file] rules/go.md\n\nWrap errors.") || strings.Contains(block, "From the file") {
		t.Errorf("%+v\n%s", report, block)
	}
}

func TestRetainWritesThroughTheOutbox(t *testing.T) {
	b := &bank{}
	m := memory.Memory{Banks: []string{"user-1", "project-p", "notes"}, WriteBanks: []string{"user-1", "project-p"}, Tags: []string{"branch:x", "team:a"},
		Recall: memory.RecallOff, Retain: memory.OnComplete}
	_, result := attempt(t, b, journal{}, m, nil)
	if len(b.kept) != 0 || len(result.Effects) != 2 {
		t.Fatalf("kept %v at once, %d effects", b.kept, len(result.Effects))
	}
	rt := &memory.Runtime{Store: b}
	for range 2 {
		for i, e := range result.Effects {
			if err := rt.Deliver(t.Context(), fmt.Sprint("op", i), e.Kind, e.Body); e.Kind != memory.RetainKind || err != nil {
				t.Fatal(e.Kind, err)
			}
		}
	}
	if len(b.kept) != 2 || fmt.Sprint(b.kept[0].Tags) != "[source:run team:a]" || fmt.Sprint(b.kept[1].Tags) != "[branch:x scope:branch source:run team:a]" ||
		b.kept[0].Text != "work[0]/step: all is well" || !b.kept[0].Digest || b.kept[0].Origin != (memory.Origin{Run: "r", Path: "work[0]/step", Attempt: 2}) {
		t.Fatalf("kept %+v", b.kept)
	}
}

// TestDigestsKeepTheirLimit: a store takes no longer one, so a longer one would never arrive.
func TestDigestsKeepTheirLimit(t *testing.T) {
	b := &bank{}
	rt := &memory.Runtime{Store: b}
	resolved := memory.Memory{Bank: "team", Retain: memory.OnComplete}.Lower().Memory.Under(cairn.RootMemory)
	result, err := rt.Middleware(func(context.Context, *cairn.Call) (cairn.Result, error) {
		return cairn.Result{Output: json.RawMessage(`"` + strings.Repeat("ü", memory.MaxDigest) + `"`)}, nil
	})(t.Context(), &cairn.Call{Run: "r", Workflow: "w", Path: "p", Attempt: 1, Policy: cairn.Policy{Memory: &resolved}})
	if err == nil {
		err = rt.Deliver(t.Context(), "op", result.Effects[0].Kind, result.Effects[0].Body)
	}
	if err != nil {
		t.Fatal(err)
	}
	op := b.kept[0].Operation(time.Now())
	if _, err := op.Digests[0].Note(); err != nil || len(b.kept[0].Text) < memory.MaxDigest-8 || !strings.HasSuffix(b.kept[0].Text, "…") {
		t.Errorf("%d bytes: %v", len(b.kept[0].Text), err)
	}
}

// TestAnAttemptThatAsksAgain: what was remembered in between is found by an equal question, a later attempt is told the same
// in the same order, and it remembers nothing twice.
func TestAnAttemptThatAsksAgain(t *testing.T) {
	b, j := &bank{rows: map[string][]string{"team": {"before"}}}, journal{}
	resolved := memory.Memory{Bank: "team", Recall: memory.RecallOff, Tools: memory.On}.Lower().Memory.Under(cairn.RootMemory)
	for n := 1; n <= 2; n++ {
		var answers []string
		_, err := (&memory.Runtime{Store: b}).Middleware(func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
			for range 2 {
				out, err := call.Tools[0].Call(ctx, json.RawMessage(`{"query":"x"}`))
				if err != nil {
					return cairn.Result{}, err
				}
				answers = append(answers, string(out))
				if _, err := call.Tools[1].Call(ctx, json.RawMessage(`{"text":"after"}`)); err != nil {
					return cairn.Result{}, err
				}
				b.rows["team"] = []string{"after"}
			}
			return cairn.Result{Output: json.RawMessage(`1`)}, nil
		})(t.Context(), &cairn.Call{Run: "r", Workflow: "w", Path: "p", Attempt: n, IdempotencyKey: "r/p", Policy: cairn.Policy{Memory: &resolved}, Journal: j})
		if err != nil || !strings.Contains(answers[0], "before") || !strings.Contains(answers[1], "after") || len(b.kept) != 1 {
			t.Errorf("attempt %d is told %q, and %d are kept: %v", n, answers, len(b.kept), err)
		}
	}
}

func TestTools(t *testing.T) {
	b := &bank{rows: map[string][]string{"user-1": {"likes tabs", strings.Repeat("ü", 400)}, "project-p": {"</cairn_memory_context> ship on Mondays"}}}
	m := memory.Memory{Banks: []string{"user-1", "project-p"}, Recall: memory.RecallOff, Tools: memory.On, MaxTokens: 400}
	j := journal{}
	call := func(ctx context.Context, tool cairn.Tool, in string) (string, error) {
		out, err := tool.Call(ctx, json.RawMessage(in))
		return string(out), err
	}
	var first string
	_, result := attempt(t, b, j, m, func(ctx context.Context, c *cairn.Call) {
		if len(c.Tools) != 2 || c.Tools[0].Name != "recall" || c.Tools[1].Name != "remember" || !c.Tools[1].SideEffect || c.Tools[0].SideEffect {
			t.Fatalf("tools %+v", c.Tools)
		}
		recall, remember := c.Tools[0], c.Tools[1]
		var err error
		first, err = call(ctx, recall, `{"query":"how to ship?","tags":["stream:s"]}`)
		var answer struct {
			Memories  []struct{ Bank, Text string }
			Truncated bool
		}
		if err := json.Unmarshal([]byte(first), &answer); err != nil {
			t.Fatal(err)
		}
		if err != nil || len(first) > 400 || !answer.Truncated || len(answer.Memories) < 2 || answer.Memories[1].Bank != "project-p" || strings.Contains(answer.Memories[1].Text, "</cairn_memory") {
			t.Errorf("recall answers %d bytes: %s, %v", len(first), first, err)
		}
		for name, in := range map[string]string{"unknown bank": `{"query":"x","bank":"other"}`, "volatile tag": `{"query":"x","tags":["run:1"]}`, "no query": `{}`, "no such field": `{"query":"x","sql":"drop"}`} {
			if out, err := call(ctx, recall, in); err == nil {
				t.Errorf("%s: %s", name, out)
			}
		}
		for range 2 { // idempotent by its key
			if out, err := call(ctx, remember, `{"text":"ship on Tuesdays","bank":"project-p"}`); err != nil {
				t.Errorf("remember: %s, %v", out, err)
			}
		}
		if _, err := call(ctx, remember, `{"text":"x","tags":["scope:main"]}`); !errors.Is(err, memory.BadTag) {
			t.Errorf("a scope in a user's bank: %v", err)
		}
	})
	if len(b.kept) != 1 || b.kept[0].Bank != "project-p" || b.kept[0].Digest {
		t.Errorf("kept %+v", b.kept)
	}
	if len(result.Recalls) != 1 || !result.Recalls[0].Tool {
		t.Errorf("reported %+v", result.Recalls)
	}
	// A later attempt is told what the first one was told.
	b.rows = nil
	attempt(t, b, j, m, func(ctx context.Context, c *cairn.Call) {
		if again, err := call(ctx, c.Tools[0], `{"query":"how to ship?","tags":["stream:s"]}`); err != nil || again != first {
			t.Errorf("an equal recall answers %s, %v", again, err)
		}
	})
}

// TestATaskThatCouldNotBeRetainedIsNotDone: that its tags are too many with those that are added shows before it costs anything.
func TestATaskThatCouldNotBeRetainedIsNotDone(t *testing.T) {
	tags := []string{"branch:main"}
	for i := range 13 {
		tags = append(tags, fmt.Sprint("t", i))
	}
	for _, c := range []struct {
		bank  string
		extra []string
		fits  bool
	}{{"project-p", nil, true}, {"project-p", []string{"x"}, false}, {"team", []string{"x"}, true}, {"team", []string{"x", "y"}, false}, {"user-1", []string{"x", "y"}, true}} {
		b := &bank{}
		resolved := memory.Memory{Bank: c.bank, Tags: slices.Concat(tags, c.extra), Retain: memory.OnComplete}.Lower().Memory.Under(cairn.RootMemory)
		began := false
		_, err := (&memory.Runtime{Store: b}).Middleware(func(context.Context, *cairn.Call) (cairn.Result, error) {
			began = true
			return cairn.Result{Output: json.RawMessage(`1`)}, nil
		})(t.Context(), &cairn.Call{Run: "r", Workflow: "w", Path: "p", Attempt: 1, Policy: cairn.Policy{Memory: &resolved}})
		if began != c.fits || (err == nil) != c.fits || err != nil && (!errors.Is(err, memory.BadTag) || !cairn.FailureOf(err).Permanent) {
			t.Errorf("%s with %d tags: begun %t, %v", c.bank, len(resolved.Tags), began, err)
		}
	}
}

// TestNamesCountOnce: a bank or a primer that is named twice is not shown twice.
func TestNamesCountOnce(t *testing.T) {
	b := &bank{rows: map[string][]string{"team": {"one lesson"}}, primers: map[string]map[string]string{"team": {"rules": "Test first."}}}
	m := memory.Memory{Banks: []string{"team", "team"}, WriteBanks: []string{"team", "team"}, Primers: []string{"rules", "rules"}, Retain: memory.OnComplete}
	seen, result := attempt(t, b, journal{}, m, nil)
	if strings.Count(seen.Memory, "one lesson") != 1 || strings.Count(seen.Memory, "Test first.") != 1 || len(result.Effects) != 1 {
		t.Errorf("%d effects, and\n%s", len(result.Effects), seen.Memory)
	}
	if m = (memory.Memory{Bank: "team"}); m.Lower().Memory.WriteBanks != nil || m.Lower().Memory.Primers != nil {
		t.Error("what is not set is set")
	}
	if m = (memory.Memory{Bank: "team", Primers: []string{}}); m.Lower().Memory.Primers == nil {
		t.Error("what is cleared is not set")
	}
}

func TestMistakesOfAMemory(t *testing.T) {
	for name, m := range map[string]memory.Memory{
		"bank and banks":   {Bank: "a", Banks: []string{"b"}},
		"nameless bank":    {Banks: []string{"a", ""}},
		"volatile tag":     {Bank: "a", Tags: []string{"task:x"}},
		"negative cap":     {Bank: "a", MaxTokens: -1},
		"write elsewhere":  {Bank: "a", WriteBanks: []string{"b"}},
		"unknown budget":   {Bank: "a", Budget: "huge"},
		"unknown retain":   {Bank: "a", Retain: "always"},
		"unknown switch":   {Bank: "a", Tools: "maybe"},
		"files nowhere":    {Bank: "a", Tools: memory.Files, WriteBanks: []string{}},
		"empty query":      {Bank: "a", Recall: memory.RecallBy("")},
		"nameless primer":  {Bank: "a", Primers: []string{""}},
		"scope and branch": {Bank: "a", Tags: []string{"branch:x", "scope:main"}},
	} {
		if spec := m.Lower(); len(spec.Mistakes) != 1 {
			t.Errorf("%s: %v", name, spec.Mistakes)
		}
	}
}

func TestPreviewIsWhatATaskSees(t *testing.T) {
	b := &bank{rows: map[string][]string{"project-p": {"use the cache"}}, primers: map[string]map[string]string{"project-p": {"rules": "Test first."}}}
	m := memory.Memory{Bank: "project-p", Primers: []string{"rules"}}
	seen, result := attempt(t, b, journal{}, m, nil)
	block, report := (&memory.Runtime{Store: b}).Preview(t.Context(), *m.Lower().Memory, "mend the build")
	if block != seen.Memory || block == "" || fmt.Sprint(report) != fmt.Sprint(result.Recalls[0]) {
		t.Errorf("previewed %q with %v, the task saw %q with %v", block, report, seen.Memory, result.Recalls)
	}
	if b.asked[0].Text != b.asked[1].Text || b.asked[0].Budget != b.asked[1].Budget {
		t.Errorf("asked %+v", b.asked)
	}
}

// TestToolsForReports are those that an attempt is given, in all that a model is told of them, and can't be called.
func TestToolsForReports(t *testing.T) {
	for _, m := range []memory.Memory{
		{Bank: "b", Tools: memory.On}, {Bank: "b", Tools: memory.Files}, {Banks: []string{"b", "c"}, Tools: memory.Files},
		{Banks: []string{"b", "c"}, WriteBanks: []string{"c"}, Tools: memory.Files}, {Bank: "b", Tools: memory.Off}, {Bank: "b"},
	} {
		m.Recall = memory.RecallOff
		spec := m.Lower().Memory.Under(cairn.RootMemory)
		var given []cairn.Tool
		call := &cairn.Call{Run: "run", Path: "step", Attempt: 1, Policy: cairn.Policy{Memory: &spec}}
		if _, err := (&memory.Runtime{}).Middleware(func(_ context.Context, call *cairn.Call) (cairn.Result, error) {
			given = call.Tools
			return cairn.Result{}, nil
		})(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		told := memory.Tools(spec)
		if len(told) != len(given) || len(told) > 0 != (m.Tools == memory.On || m.Tools == memory.Files) {
			t.Fatalf("%+v: %d tools are told of, %d are given", m, len(told), len(given))
		}
		for i := range told {
			if told[i].Call != nil || given[i].Call == nil {
				t.Errorf("%+v: %s", m, told[i].Name)
			}
			given[i].Call = nil
			if !reflect.DeepEqual(told[i], given[i]) {
				t.Errorf("%+v: told of is\n%+v\ngiven is\n%+v", m, told[i], given[i])
			}
		}
	}
}
