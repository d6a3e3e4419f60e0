package cli_test

import (
	"strings"
	"testing"

	"github.com/cairnrun/cairn/engine/cli"
)

// weight is what the tests read of node --json.
type weight struct {
	Run, Path, Status, Bucket string
	Tasks, PromptBytes        int
	Outcomes                  map[string]int
	Calls, Unpriced           int
	Tokens, Cost, Context     int64
	HalfFull                  bool
	Kinds                     map[string]int64
	Attempts                  []struct {
		Attempt int
		Outcome string
		Tokens  int64
		Failure *struct{ Message string }
	}
	Budgets []struct {
		Budget, Measure string
		PerTask         bool
		Spent, Left     *int64
	}
}

func TestNode(t *testing.T) {
	p := newPlace(t)
	p.spend(220_000, cli.ExitFailed, "up", "costly", "--run-id", "r1", "-q")
	golden(t, "node.golden", timeless(p.canon(p.must(0, "node", "r1", "work[1]/step").out)))
	w := lines[weight](t, p.must(0, "node", "r1", "work[1]/step", "--json").out)[0]
	if w.Run != "r1" || w.Path != "work[1]/step" || w.Status != "done" || w.Tokens != 170_000 || w.Calls != 3 || w.Context != 110_000 || w.Bucket != "200k" || !w.HalfFull {
		t.Errorf("%+v", w)
	}
	// 118,000 uncached at $1, 2,000 out at $5, 40,000 read at $0.10, 6,000 written at $1.25 and 4,000 at $2, per million.
	if w.Cost != 118_000+10_000+4_000+7_500+8_000 {
		t.Errorf("cost %d", w.Cost)
	}
	var kinds int64
	for _, n := range w.Kinds {
		kinds += n
	}
	if kinds != w.Tokens || w.Kinds["cache_write"] != 6_000 || w.Kinds["cache_write_1h"] != 4_000 {
		t.Errorf("kinds %v", w.Kinds)
	}
	if prompt := len(strings.Repeat("go on ", 101)) + 2; w.PromptBytes != prompt {
		t.Errorf("a prompt of %d bytes, want %d", w.PromptBytes, prompt)
	}
	if len(w.Attempts) != 2 || w.Attempts[0].Outcome != "failed" || w.Attempts[0].Failure == nil || w.Attempts[1].Outcome != "done" || w.Attempts[1].Tokens != 60_000 {
		t.Errorf("attempts %+v", w.Attempts)
	}
	if len(w.Budgets) != 3 || !w.Budgets[1].PerTask || *w.Budgets[1].Spent != 170_000 || *w.Budgets[1].Left != 30_000 {
		t.Errorf("budgets %+v", w.Budgets)
	}

	// Of what is no task, all below is summed up.
	for path, want := range map[string]struct {
		tasks  int
		tokens int64
	}{"work": {2, 230_000}, "work[1]": {1, 170_000}, "#side": {2, 18_500}, "#aspects": {4, 248_500}} {
		w := lines[weight](t, p.must(0, "node", "r1", path, "--json").out)[0]
		if w.Tasks != want.tasks || w.Tokens != want.tokens || w.Status != "" || w.Attempts != nil {
			t.Errorf("%s: %+v", path, w)
		}
	}
	has(t, p.must(0, "node", "r1", "#side").out, "tasks     2 have started", "cost      $0.15, without 1 call of models that have no price", "$0.15 of $0.10 ($0.05 over) skip-remaining")

	// What has not started has used nothing.
	has(t, p.spend(220_000, 0, "node", "r1", "spare").out, "budget    #aspects  tokens   ██████████  248,500 of 220,000 (28,500 over) fail",
		"budget    #side     cost     ██████████  $0.15 of $0.10")
	has(t, p.spend(300_000, 0, "node", "r1", "last").out, "248,500 of 300,000 (51,500 left) fail")
	has(t, p.must(0, "node", "r1", "last").out, "status    pending\nattempts  none\ncalls     0\n")
	has(t, p.must(0, "node", "r1", "spare").out, "status    skipped\n", "attempts  none\n")
}

func TestNodeRefused(t *testing.T) {
	p := newPlace(t)
	has(t, p.must(2, "node", "r1", "x").err, "NO_DATABASE")
	p.spend(220_000, cli.ExitFailed, "up", "costly", "--run-id", "r1", "-q")
	for _, c := range []struct{ run, path, want string }{
		{"r2", "last", "RUN_NOT_FOUND run r2"},
		{"r1", "step", "NO_SUCH_NODE run r1: there is no task at step, and none that has started below it; did you mean work[0]/step or work[1]/step or work[2]/step?"},
		{"r1", "lsat", "did you mean last?"},
		{"r1", "#sied", "did you mean #side?"},
		{"r1", "nothing/like/it", "NO_SUCH_NODE"},
		{"r1", "wor", "did you mean work?"},
	} {
		has(t, p.must(cli.ExitRefused, "node", c.run, c.path).err, c.want)
	}
	has(t, p.must(cli.ExitRefused, "node", "r1", "nothing/like/it", "--json").err, `"code":"NO_SUCH_NODE"`, `"run":"r1"`)
}

func TestMetricsCommand(t *testing.T) {
	p := newPlace(t)
	if r := p.must(0, "metrics"); r.out != "" || len(p.files()) != 0 {
		t.Errorf("metrics of nothing: %q, wrote %v", r.out, p.files())
	}
	has(t, p.must(2, "metrics", "r1").err, "NO_DATABASE")
	p.spend(220_000, cli.ExitFailed, "up", "costly", "--run-id", "r1", "-q")
	p.must(0, "up", "zoo", "--run-id", "r2", "-q")
	all := p.must(0, "metrics").out
	golden(t, "metrics.golden", untimed(all))
	if again := p.must(0, "metrics", "r2", "r1", "r2").out; again != all {
		t.Errorf("the runs by name, one twice, give\n%s", again)
	}
	one := p.must(0, "metrics", "--workflow", "zoo").out
	if strings.Contains(one, "costly") || one != p.must(0, "metrics", "r2").out {
		t.Errorf("of one workflow:\n%s", one)
	}
	counters := lines[struct {
		Name   string
		Labels map[string]string
		Value  int64
	}](t, p.must(0, "metrics", "r1", "--json").out)
	if counters[0].Labels["workflow"] != "costly" || counters[0].Value == 0 {
		t.Errorf("%+v", counters[0])
	}
	has(t, p.must(2, "metrics", "r1", "--workflow", "zoo").err, "BAD_USAGE")
	has(t, p.must(2, "metrics", "r3").err, "RUN_NOT_FOUND run r3")
}

// untimed takes out the metrics of time: they differ from run to run, and one of a moment is not there.
func untimed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "cairn_attempt_milliseconds_total") {
			out.WriteString(line)
		}
	}
	return out.String()
}
