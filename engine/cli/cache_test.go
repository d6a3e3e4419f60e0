package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/cli"
)

// thrifty asks the same three times.
var thrifty = cairn.Workflow[struct{}, string]{Name: "thrifty", Result: last, Example: new(struct{}{}), Render: func(*cairn.View, struct{}) cairn.Node {
	return cairn.Loop{ID: "l", Max: 3, OnMax: cairn.ReturnLast, Body: func(*cairn.View) cairn.Node {
		again := say(last, "the same")
		again.With = cairn.With{cache.Policy{Scope: cache.Workflow}}
		return again
	}}
}}

// thrift runs a command line of a program with that workflow.
func (p place) thrift(code int, args ...string) result {
	p.t.Helper()
	var out, errOut bytes.Buffer
	got := cli.Run(p.t.Context(), append(args, "--db", p.db()), strings.NewReader(""), &out, &errOut, thrifty)
	if got != code {
		p.t.Fatalf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", args, got, code, out.String(), errOut.String())
	}
	return result{got, out.String(), errOut.String()}
}

func wants(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func TestHitsAreVisible(t *testing.T) {
	p := newPlace(t)
	up := p.thrift(cli.ExitFinished, "up", "thrifty", "--run-id", "r")
	wants(t, "progress", up.err, "l[1]/last from the cache", "l[2]/last from the cache")
	if strings.Contains(up.err, "l[0]/last from the cache") {
		t.Errorf("the first one is no hit:\n%s", up.err)
	}
	wants(t, "events", p.thrift(0, "events", "r").out, "finished     l[1]/last from the cache")
	wants(t, "events --json", p.thrift(0, "events", "r", "--json").out, `"cached":true`)
	wants(t, "inspect", p.thrift(0, "inspect", "r").out, "3 done (2 from the cache)")
	wants(t, "inspect --json", p.thrift(0, "inspect", "r", "--json").out, `"cached":["l[1]/last","l[2]/last"]`)
	wants(t, "node", p.thrift(0, "node", "r", "l").out, "3: 2 cached, 1 done")
	wants(t, "node", p.thrift(0, "node", "r", "l[1]/last").out, "attempt 1  cached after")
	wants(t, "metrics", p.thrift(0, "metrics", "r").out, "cairn_cache_hits_total{workflow=\"thrifty\"} 2\n", "outcome=\"done\"} 1\n")
}

func TestCacheCommands(t *testing.T) {
	p := newPlace(t)
	for _, args := range [][]string{{"ls"}, {"stats"}, {"rm", "--all"}} {
		p.thrift(0, append([]string{"cache"}, args...)...)
	}
	p.thrift(cli.ExitRefused, "cache", "rm", "66")
	if len(p.files()) != 0 {
		t.Errorf("looking has written %v", p.files())
	}

	p.thrift(0, "up", "thrifty", "--run-id", "r")
	wants(t, "ls", p.thrift(0, "cache", "ls").out, "KEY", "workflow", "thrifty", "l[0]/last", "never")
	entries := lines[engine.CacheEntry](t, p.thrift(0, "cache", "ls", "--json").out)
	if len(entries) != 1 || entries[0].Run != "r" || len(entries[0].Key) != 64 {
		t.Fatalf("ls --json: %+v", entries)
	}
	wants(t, "stats", p.thrift(0, "cache", "stats").out, "entries", "1", "of at most 268.4 MB", "30d")
	if stats := lines[engine.CacheStats](t, p.thrift(0, "cache", "stats", "--json").out); stats[0].Entries != 1 || stats[0].Bytes != entries[0].Bytes {
		t.Errorf("stats --json: %+v", stats)
	}

	for _, args := range [][]string{{"rm"}, {"rm", "nothing"}, {"rm", ""}, {"rm", "a", "--all"}, {"ls", "--limit", "0"}} {
		p.thrift(cli.ExitRefused, append([]string{"cache"}, args...)...)
	}
	wants(t, "rm", p.thrift(0, "cache", "rm", entries[0].Key[:12]).out, "removed 1")
	p.thrift(cli.ExitRefused, "cache", "rm", entries[0].Key)
	p.thrift(0, "up", "thrifty")
	wants(t, "rm --all --json", p.thrift(0, "cache", "rm", "--all", "--json").out, `{"removed":1}`)
	if left := p.thrift(0, "cache", "ls", "--json").out; left != "" {
		t.Errorf("after rm --all: %s", left)
	}
}
