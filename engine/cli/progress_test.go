package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// On a terminal lines have colours, and the last line counts until the next one takes its place.
func TestProgressLive(t *testing.T) {
	var out bytes.Buffer
	p := (&app{name: "run", err: &out}).progress(false)
	p.live = true
	p.start()
	p.frame("r", &core.Frame{N: 1, Events: []core.Event{{Kind: core.RunStarted, Path: "r", Name: "w"}}, Decisions: []core.Decision{{Kind: core.Started, Path: "x", Attempt: 1}}})
	p.note("a note")
	p.frame("r", &core.Frame{N: 2, Time: 1500, Events: []core.Event{{Kind: core.TaskDone, Path: "x", Attempt: 1}}})
	p.close()
	p.close()
	got := out.String()
	for _, want := range []string{
		"run-started  r, workflow w, resume it with: run resume r\n", "\x1b[2mstarted      x\x1b[0m\n", "a note\n", "\x1b[32mfinished     x in 1.5s\x1b[0m\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the last line stays: %q", got)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Millisecond: "999ms", 1500 * time.Millisecond: "1.5s", 90 * time.Second: "1m30s",
		3*time.Hour + 4*time.Minute: "3h4m", 50 * time.Hour: "2d", 59999 * time.Millisecond: "1m0s",
	} {
		if got := span(d.Milliseconds()); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for got, want := range map[string]string{
		size(999): "999 B", size(1500): "1.5 kB", size(2_500_000): "2.5 MB", size(3e9): "3.0 GB",
		quote("a b"): "'a b'", quote("it's"): `'it'\''s'`, quote("a/b:1"): "a/b:1", quote(""): "''",
		oneLine("a\n\n b\n"): "a; b", short("äöü", 2): "äö…", count(1, "frame"): "1 frame", count(2, "frame"): "2 frames",
		brief(nil): "a failure", brief(&cairn.Failure{Code: "X"}): "X", brief(&cairn.Failure{Code: "X", Message: "a\nb"}): "X: a; b",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, pair := range [][2]string{{"a[9]", "a[10]"}, {"a[2]/x", "a[10]/x"}, {"a", "b"}, {"a", "aa"}, {"a01", "a2"}} {
		if naturally(pair[0], pair[1]) >= 0 || naturally(pair[1], pair[0]) <= 0 {
			t.Errorf("%q before %q", pair[0], pair[1])
		}
	}
}
