//go:build unix

package cli_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/engine"
)

func TestChain(t *testing.T) {
	p := newPlace(t)
	r := p.must(0, "up", "relay", "--run-id", "r")
	if r.out != "\"over\"\n" {
		t.Errorf("stdout: %q", r.out)
	}
	golden(t, "up-chain.golden", p.canon(r.err))
	golden(t, "chain.golden", p.canon(p.must(0, "chain", "r.2").out))
	type link struct {
		Generation, StateBytes int
		Run, Status            string
	}
	all := lines[link](t, p.must(0, "chain", "r", "--json").out)
	if len(all) != 3 || all[0] != (link{1, 0, "r", "continued"}) || all[2] != (link{3, 7, "r.3", "finished"}) {
		t.Errorf("chain %+v", all)
	}
	p.must(2, "chain", "none")
	has(t, p.must(0, "inspect", "r.2").out, "2, after r, before r.3", "continued", `{"n":2}`)
	has(t, p.must(0, "events", "r", "--follow").out, "run-started  r, workflow relay", "run-started  r.2, workflow relay, generation 2", "run-finished")
	if strings.Contains(p.must(0, "events", "r").out, "generation") {
		t.Error("events go on without --follow")
	}
	has(t, p.must(2, "resume", "r").err, "RUN_ENDED run r.3")
	has(t, p.must(2, "up", "relay", "--run-id", "r").err, "RUN_ENDED run r.3")

	file := filepath.Join(p.dir, "chain.jsonl")
	if err := os.WriteFile(file, []byte(p.must(0, "export", "r").out), 0o644); err != nil {
		t.Fatal(err)
	}
	p.must(0, "replay", "relay", file)
	other := newPlace(t)
	other.must(0, "import", file)
	if got := other.must(0, "chain", "r.3").out; got != p.must(0, "chain", "r").out {
		t.Errorf("the imported chain is\n%s", got)
	}
	if n := len(lines[map[string]any](t, p.must(0, "up", "relay", "--run-id", "json", "--json").err)); n < 10 {
		t.Errorf("%d lines of progress", n)
	}
}

// TestChainOfProcesses stops a process in the second run of a chain; the first run's id is enough to go on.
func TestChainOfProcesses(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("wait", "up", "relay", "--run-id", "r")
	x.until("run-started  r.2")
	x.until("started      held")
	x.signal(os.Interrupt)
	x.end(130)
	has(t, p.must(0, "chain", "r").out, "r.2", "interrupted")
	r := p.must(0, "up", "relay", "--run-id", "r", "--json")
	if o := lines[engine.Outcome](t, r.out); len(o) != 1 || o[0].Run != "r.3" || string(o[0].Result) != `"over"` {
		t.Errorf("outcome %+v", o)
	}
}

// TestCancelOfAChain asks the first run, and the second is cancelled.
func TestCancelOfAChain(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("wait", "up", "relay", "--run-id", "r", "--json")
	for line := range x.lines {
		var h struct{ Run, Type, Path string }
		if json.Unmarshal([]byte(line), &h) == nil && h.Run == "r.2" && h.Path == "held" {
			break
		}
	}
	has(t, p.must(0, "cancel", "r").out, "run r.2 is cancelled")
	x.end(1)
	out := bufio.NewScanner(&x.out)
	if !out.Scan() || !strings.Contains(out.Text(), `"run":"r.2","status":"cancelled"`) {
		t.Errorf("the process says %q", out.Text())
	}
}
