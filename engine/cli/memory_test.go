package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
	"github.com/cairnrun/cairn/task"
)

// echo is an agent that always answers the same.
type echo struct{}

func (echo) Run(_ context.Context, req task.Request) (task.Response, error) {
	return task.Response{Text: "The quokka tests need a longer timeout."}, nil
}

// learner leaves a digest, and a turn of a conversation.
var learner = cairn.Workflow[struct{}, string]{Name: "learner", Result: last, Example: new(struct{}{}), Render: func(*cairn.View, struct{}) cairn.Node {
	ask := task.Task[string]{ID: last, Agent: echo{}, Prompt: func(*cairn.View) string { return "why do the quokka tests fail?" }}
	ask.With = cairn.With{memory.Conversation{Thread: "t-1", Namespace: memory.Namespace{Kind: memory.AgentKind, ID: "support"}, Bank: "team"}}
	return memory.Memory{Bank: "project-x", Tags: []string{"branch:main"}, Retain: memory.OnComplete, Children: cairn.Nodes{ask}}
}}

// learn runs a command line of a program with that workflow.
func (p place) learn(code int, args ...string) result { return p.learnFrom("", code, args...) }

func (p place) learnFrom(in string, code int, args ...string) result {
	p.t.Helper()
	var out, errOut bytes.Buffer
	got := cli.Run(p.t.Context(), append(args, "--db", p.db()), strings.NewReader(in), &out, &errOut, learner)
	if got != code {
		p.t.Fatalf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", args, got, code, out.String(), errOut.String())
	}
	return result{got, out.String(), errOut.String()}
}

// mem runs a command of memory.
func (p place) mem(args ...string) result {
	p.t.Helper()
	return p.learn(0, append([]string{"memory"}, args...)...)
}

// refuses wants a command of memory to be refused with a code.
func (p place) refuses(code cairn.Code, args ...string) {
	p.t.Helper()
	got := p.learn(cli.ExitRefused, append(append([]string{"memory"}, args...), "--json")...)
	if e := lines[struct{ Code cairn.Code }](p.t, got.err); len(e) != 1 || e[0].Code != code {
		p.t.Errorf("%q: %s, want %s", args, got.err, code)
	}
	if got.out != "" {
		p.t.Errorf("%q: stdout of a refused command: %s", args, got.out)
	}
}

// memory opens the place's memory as a program would.
func (p place) memory(fn func(ctx context.Context, db *dbfile.DB, m *lanes.Store) error) {
	p.t.Helper()
	ctx := p.t.Context()
	store, err := sqlite.Open(ctx, sqlite.Config{Path: p.db()})
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := lanes.Open(ctx, lanes.Config{DB: store.DB()})
	if err == nil {
		err = fn(ctx, store.DB(), m)
	}
	if closed := store.Close(); err == nil {
		err = closed
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func TestMemoryEndToEnd(t *testing.T) {
	p := newPlace(t)
	p.learn(0, "up", "learner", "--run-id", "r")

	found := lines[map[string]any](t, p.mem("search", "quokka timeouts", "--bank", "project-x", "--kind", "digest", "--json").out)
	if len(found) != 1 || found[0]["kind"] != "digest" || found[0]["words"] != 2.0 || found[0]["namespace"] != "workflow:learner" {
		t.Fatalf("search --json: %v", found)
	}
	wants(t, "search", p.mem("search", "quokka timeouts", "--bank", "project-x").out, "digest  workflow:learner", "last: The «quokka» tests need a longer «timeout».")
	if out := p.mem("search", "quokka", "--bank", "elsewhere", "--json").out; out != "" {
		t.Errorf("another bank gives %s", out)
	}

	told := p.mem("recall", "what do quokka tests need?", "--bank", "project-x", "--bank", "user-7")
	golden(t, "memory-recall.golden", canonIDs(told.out+told.err))
	previewed := lines[struct {
		Block  string
		Report cairn.Recall
	}](t, p.mem("recall", "what do quokka tests need?", "--bank", "project-x", "--bank", "user-7", "--json").out)[0]
	if previewed.Block+"\n" != told.out || previewed.Report.Rows != 1 || previewed.Report.Status != cairn.RecallOK {
		t.Errorf("recall --json: %+v", previewed)
	}
	if cut := p.mem("recall", "quokka tests", "--bank", "project-x", "--max-tokens", "160", "--json").out; len(lines[struct{ Block string }](t, cut)[0].Block) > 160 {
		t.Errorf("more than asked for: %s", cut)
	}
	wants(t, "another branch", p.mem("recall", "quokka tests", "--bank", "project-x", "--tag", "branch:other").out, "longer timeout") // main is everyone's

	wants(t, "threads list", p.mem("threads", "list", "agent:support").out, "t-1", "2", "team")
	wants(t, "threads show", p.mem("threads", "show", "agent:support", "t-1").out, "user: why do the quokka tests fail?", "assistant: The quokka tests")
	if said := lines[memory.Message](t, p.mem("threads", "show", "agent:support", "t-1", "--last", "1", "--json").out); len(said) != 1 || said[0].Role != memory.Assistant {
		t.Errorf("threads show --last 1: %+v", said)
	}
	wants(t, "a message is found", p.mem("search", "quokka", "--bank", "team", "--kind", "message").out, "t-1/", "why do the «quokka» tests fail?")
	wants(t, "namespaces", p.mem("list").out, "agent:support     0      0      1        2", "workflow:learner  0      1      0        0")

	p.refuses(cli.BadUsage, "forget", "workflow:learner")
	gone := p.mem("forget", "workflow:learner", "--yes").out
	wants(t, "forget", gone, "forgot workflow:learner: 1 item (0 facts, 1 note, 0 threads with 0 messages); the file was searched for", "and has none")
	if out := p.mem("search", "quokka", "--bank", "project-x", "--json").out; out != "" {
		t.Errorf("after forget: %s", out)
	}
	if told := p.mem("recall", "quokka tests", "--bank", "project-x"); told.out != "" {
		t.Errorf("after forget: %s", told.out)
	}
	wants(t, "forget again", p.mem("forget", "workflow:learner", "--yes").out, "there was nothing of workflow:learner")
	wants(t, "threads rm", p.mem("threads", "rm", "agent:support", "t-1").out, "removed thread t-1")
	p.refuses(memory.NotFound, "threads", "rm", "agent:support", "t-1")
	p.refuses(memory.NotFound, "threads", "show", "agent:support", "t-1")
	if left := p.mem("list", "--json").out; left != "" {
		t.Errorf("something is left: %s", left)
	}
}

func canonIDs(text string) string {
	return regexp.MustCompile(`\b[0-9a-f]{20}\b`).ReplaceAllString(text, "ID")
}

// What only looks creates nothing: no file, and in a file that has no memory no tables.
func TestLookingIsNoWriting(t *testing.T) {
	p := newPlace(t)
	look := func() {
		for _, args := range [][]string{
			{"list"}, {"list", "workflow:w"}, {"search", "x", "--bank", "b"}, {"recall", "x", "--bank", "b"}, {"notes", "list", "workflow:w"},
			{"threads", "list", "workflow:w"}, {"primers", "list"}, {"primers", "list", "--bank", "b"}, {"stats"}, {"gc"}, {"outbox", "ls"},
			{"outbox", "drop", "--dead"}, {"forget", "workflow:w", "--yes"}, {"forget", "workflow:w", "fact", "k", "--yes"}, {"list", "--json"}, {"stats", "--json"},
		} {
			p.mem(args...)
		}
		if out := p.mem("export").out; out != lanes.EmptyExport {
			t.Errorf("exported %q", out)
		}
		for _, args := range [][]string{
			{"get", "workflow:w", "k"}, {"rm", "workflow:w", "k"}, {"notes", "show", "workflow:w", "n"}, {"notes", "accept", "workflow:w", "n"},
			{"notes", "retire", "workflow:w", "n"}, {"notes", "add", "workflow:w", "text", "--supersedes", "n"}, {"threads", "show", "workflow:w", "t"},
			{"threads", "rm", "workflow:w", "t"}, {"primers", "pin", "workflow:w", "n"}, {"primers", "show", "b", "n"}, {"outbox", "retry", "x"},
		} {
			p.refuses(memory.NotFound, args...)
		}
		p.refuses(memory.VersionConflict, "set", "workflow:w", "k", "1", "--if-version", "2")
	}
	look()
	if len(p.files()) != 0 {
		t.Fatalf("looking has written %v", p.files())
	}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: p.db()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	look()
	if there, err := lanes.Present(t.Context(), store.DB()); err != nil || there {
		t.Errorf("looking has made tables: %v, %v", there, err)
	}
}

func TestFacts(t *testing.T) {
	p := newPlace(t)
	for _, args := range [][]string{
		{"nope:w", "k", "1"}, {"workflow", "k", "1"}, {"workflow:w", "", "1"}, {"workflow:", "k", "1"},
	} {
		p.refuses(memory.InvalidName, append([]string{"set"}, args...)...)
	}
	p.refuses(memory.InvalidItem, "set", "workflow:w", "k", "{bad")
	for _, tag := range []string{"run:7", "task:x", "session:s", "project:p", "attempt:1", "scope:none", "source:me", "branch"} {
		p.refuses(memory.BadTag, "set", "workflow:w", "k", "1", "--tag", tag)
		p.refuses(memory.BadTag, "notes", "add", "workflow:w", "text", "--tag", tag)
		p.refuses(memory.BadTag, "search", "x", "--bank", "b", "--tag", tag)
		p.refuses(memory.BadTag, "recall", "x", "--bank", "b", "--tag", tag)
	}
	p.refuses(memory.BadTag, "set", "workflow:w", "k", "1", "--bank", "user-7", "--tag", "branch:main")
	p.refuses(memory.BadTag, "set", "workflow:w", "k", "1", "--bank", "project-x", "--tag", "branch:a", "--tag", "branch:b")
	p.refuses(memory.BadBank, "set", "workflow:w", "k", "1", "--bank", " ")
	p.refuses(cli.BadUsage, "set", "workflow:w", "k", "1", "--ttl", "soon")
	p.refuses(cli.NoSuchFile, "set", "workflow:w", "k", "@"+filepath.Join(p.dir, "none"))
	if len(p.files()) != 0 {
		t.Fatalf("what was refused has written %v", p.files())
	}

	wants(t, "set", p.mem("set", "workflow:w", "runner", `"bun test"`, "--bank", "project-x", "--tag", "stream:ci", "--ttl", "30d").out, "workflow:w runner is version 1")
	if got := p.mem("get", "workflow:w", "runner").out; got != "\"bun test\"\n" {
		t.Errorf("get: %q", got)
	}
	was := lines[memory.Fact](t, p.mem("get", "workflow:w", "runner", "--json").out)[0]
	if strings.Join(was.Tags, " ") != "scope:main source:chat stream:ci" || time.Until(was.Expires) < 29*24*time.Hour {
		t.Errorf("get --json: %+v", was)
	}
	// What no flag names stays.
	p.learnFrom(`{"a": 1}`, 0, "memory", "set", "workflow:w", "runner", "-")
	now := lines[memory.Fact](t, p.mem("get", "workflow:w", "runner", "--json").out)[0]
	if string(now.Value) != `{"a":1}` || now.Version != 2 || now.Bank != was.Bank || strings.Join(now.Tags, " ") != strings.Join(was.Tags, " ") || !now.Expires.Equal(was.Expires) {
		t.Errorf("after another set: %+v", now)
	}
	now = lines[memory.Fact](t, p.mem("set", "workflow:w", "runner", "3", "--bank", "user-7", "--tag", "", "--ttl", "0", "--json").out)[0]
	if now.Bank != "user-7" || strings.Join(now.Tags, " ") != "source:chat" || !now.Expires.IsZero() {
		t.Errorf("after clearing: %+v", now)
	}
	p.refuses(memory.VersionConflict, "set", "workflow:w", "runner", "4", "--if-version", "2")
	p.refuses(memory.VersionConflict, "set", "workflow:w", "runner", "4", "--if-version", "0")
	wants(t, "set --if-version", p.mem("set", "workflow:w", "runner", "4", "--if-version", "3").out, "version 4")
	wants(t, "list", p.mem("list", "workflow:w").out, "KEY", "runner", "user-7", "source:chat", "never", "4")
	wants(t, "stats", p.mem("stats").out, "1, 0 of them expired, 3 earlier versions", "1 of 1 item")
	wants(t, "gc", p.mem("gc", "--keep", "0s").out, "collected 0 expired facts, 3 old versions, 0 old operations")
	wants(t, "gc --json", p.mem("gc", "--reindex", "--json").out, `{"expired":0,"versions":0,"applied":0,"indexed":true}`)
	wants(t, "rm", p.mem("rm", "workflow:w", "runner").out, "removed workflow:w runner")
	p.refuses(memory.NotFound, "rm", "workflow:w", "runner")
	p.refuses(memory.NotFound, "get", "workflow:w", "runner")
	wants(t, "forget of what was removed", p.mem("forget", "workflow:w", "fact", "runner", "--yes").out, "forgot workflow:w fact runner")
}

func TestNotes(t *testing.T) {
	p := newPlace(t)
	p.mem("notes", "add", "workflow:w", "Restart the pool before the cache.", "--id", "n1", "--bank", "project-x", "--title", "Failover", "--type", "procedural")
	wants(t, "add", p.mem("notes", "add", "workflow:w", "Restart the pool twice.", "--id", "n2", "--bank", "project-x", "--status", "proposed", "--supersedes", "n1").out,
		"added note n2 of workflow:w, proposed")
	wants(t, "add again", p.mem("notes", "add", "workflow:w", "Restart the pool twice.", "--id", "n2", "--bank", "project-x", "--status", "proposed", "--supersedes", "n1").out,
		"is there already")
	p.refuses(memory.Exists, "notes", "add", "workflow:w", "Something else.", "--id", "n2", "--bank", "project-x")
	p.refuses(memory.InvalidItem, "notes", "add", "workflow:w", " ")
	p.refuses(memory.InvalidItem, "notes", "add", "workflow:w", "x", "--status", "perhaps")
	p.refuses(memory.InvalidItem, "notes", "list", "workflow:w", "--status", "perhaps")
	p.refuses(memory.Unscoped, "notes", "list")
	counting := func(args ...string) string {
		var ids []string
		for _, n := range lines[memory.Note](t, p.mem(append([]string{"notes", "list", "workflow:w", "--json"}, args...)...).out) {
			ids = append(ids, n.ID)
		}
		return strings.Join(ids, " ")
	}
	if got := counting() + "; " + counting("--status", "all") + "; " + counting("--status", "proposed"); got != "n1; n1 n2; n2" {
		t.Errorf("listed %s", got)
	}
	wants(t, "accept", p.mem("notes", "accept", "workflow:w", "n2").out, "note n2 of workflow:w is accepted")
	if got := counting(); got != "n2" {
		t.Errorf("once it is accepted: %s", got)
	}
	wants(t, "list", p.mem("notes", "list", "workflow:w", "--status", "all").out, "accepted, superseded")
	wants(t, "reject", p.mem("notes", "reject", "workflow:w", "n2").out, "is rejected")
	golden(t, "memory-note.golden", p.canon(p.mem("notes", "show", "workflow:w", "n1").out))
	golden(t, "memory-search.golden", p.canon(p.mem("search", "pools restarted twice", "--ns", "workflow:w", "--status", "all").out))
	p.mem("notes", "accept", "workflow:w", "n1")

	wants(t, "pin", p.mem("primers", "pin", "workflow:w", "n1").out, "accepted, pinned")
	wants(t, "primers list", p.mem("primers", "list").out, "n1", "Failover")
	if got := p.mem("primers", "show", "project-x", "n1").out; got != "Restart the pool before the cache.\n" {
		t.Errorf("primers show: %q", got)
	}
	wants(t, "recall with a primer", p.mem("recall", "nothing of it", "--bank", "project-x", "--primer", "n1").out, "### [project-x] n1")
	p.mem("primers", "unpin", "workflow:w", "n1")
	p.refuses(memory.NotFound, "primers", "show", "project-x", "n1")
	wants(t, "retire", p.mem("notes", "retire", "workflow:w", "n1").out, "retired")
	p.refuses(cli.BadUsage, "notes", "retire", "workflow:w", "n1", "--at", "soon")
	p.refuses(memory.NotFound, "notes", "reject", "workflow:w", "none")
	if got := counting(); got != "" {
		t.Errorf("once it is retired: %s", got)
	}
}

func TestSearchAndItsPages(t *testing.T) {
	p := newPlace(t)
	for _, id := range []string{"a", "b", "c"} {
		p.mem("notes", "add", "workflow:w", "A parser, "+id+".", "--id", id, "--bank", "b")
	}
	var got []string
	for after := ""; ; {
		page := lines[struct{ ID, After string }](t, p.mem("search", "parser", "--bank", "b", "--limit", "1", "--after", after, "--json").out)
		if len(page) == 0 {
			break
		}
		got, after = append(got, page[0].ID), page[0].After
		p.mem("notes", "add", "workflow:w", "A parser in between, "+page[0].ID, "--bank", "b")
	}
	if strings.Join(got, " ") != "c b a" {
		t.Errorf("pages of %v", got)
	}
	wants(t, "more", p.mem("search", "parser", "--bank", "b", "--limit", "1").err, "there may be more: --after 1.")
	p.refuses(memory.Unscoped, "search", "parser")
	p.refuses(memory.InvalidName, "search", "parser", "--ns", "team:w")
	p.refuses(memory.InvalidItem, "search", "parser", "--bank", "b", "--after", "x")
	for _, args := range [][]string{{"--kind", "lesson"}, {"--limit", "0"}, {"--since", "soon"}, {"--before", "13"}} {
		p.refuses(cli.BadUsage, append([]string{"search", "parser", "--bank", "b"}, args...)...)
	}
	if out := p.mem("search", "parser", "--bank", "b", "--before", "2001-01-01", "--json").out; out != "" {
		t.Errorf("before all: %s", out)
	}
	if n := len(lines[any](t, p.mem("search", "parser", "--bank", "b", "--since", "1h", "--kind", "note", "--json").out)); n != 6 {
		t.Errorf("%d of the last hour", n)
	}
	p.refuses(memory.Unscoped, "recall", "x")
	p.refuses(cli.BadUsage, "recall", "x", "--bank", "b", "--budget", "huge")
	p.refuses(cli.BadUsage, "recall", "x", "--bank", "b", "--max-tokens", "-1")
	p.refuses(memory.BadBank, "recall", "x", "--bank", "")
}

// TestRecallShowsWhatATaskWouldSee: primers that are files, and the remote backend, as a run has them, also before anything is
// remembered here.
func TestRecallShowsWhatATaskWouldSee(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(filepath.Dir(p.db()), "primers", "conventions.md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("Test first."), 0o600)); err != nil {
		t.Fatal(err)
	}
	recall := []string{"memory", "recall", "quokkas", "--bank", "team", "--primer", "conventions.md"}
	wants(t, "a file", p.learn(0, recall...).out, "### [file] conventions.md", "Test first.")
	p.mem("notes", "add", "workflow:w", "Quokkas are slow.", "--bank", "team")
	wants(t, "a file and a note", p.learn(0, recall...).out, "Test first.", "Quokkas are slow.")

	remote := httptest.NewServer(hindsighttest.NewServer("1.1.0"))
	defer remote.Close()
	t.Setenv("HINDSIGHT_URL", remote.URL)
	got := p.learn(0, append(recall, "--json")...).out
	wants(t, "with a remote", got, "Quokkas are slow.", `"arms":["hindsight",`)
	wants(t, "with a remote alone", newPlace(t).learn(0, "memory", "recall", "quokkas", "--bank", "team", "--json").out, `"arms":["hindsight"]`)
	remote.Close()
	wants(t, "with a remote that is away", p.learn(cli.ExitFailed, recall...).err, "HINDSIGHT_UNAVAILABLE")
}

func TestMemoryExportAndImport(t *testing.T) {
	p, q := newPlace(t), newPlace(t)
	p.mem("set", "workflow:w", "k", `"v"`)
	p.mem("notes", "add", "workflow:w", "A lesson.", "--bank", "b")
	raw := p.mem("export").out
	file := filepath.Join(p.dir, "memory.jsonl")
	wants(t, "export FILE", p.mem("export", file).out, "wrote ", file)
	if written, err := os.ReadFile(file); err != nil || string(written) != raw {
		t.Errorf("the file differs from stdout: %v", err)
	}
	wants(t, "import", q.mem("import", file).out, "imported 2 items")
	if again := q.mem("export").out; again != raw {
		t.Errorf("exported again:\n%swas:\n%s", again, raw)
	}
	q.refuses(memory.Exists, "import", file)
	fresh := newPlace(t)
	fresh.refuses(cli.NoSuchFile, "import", filepath.Join(p.dir, "none"))
	if got := fresh.learnFrom("{}\n", cli.ExitRefused, "memory", "import", "-"); !strings.Contains(got.err, "MEMORY_BAD_IMPORT") || len(fresh.files()) > 0 {
		t.Errorf("%s; %v", got.err, fresh.files())
	}
	wants(t, "import -", fresh.learnFrom(raw, 0, "memory", "import", "-", "--json").out, `{"imported":2}`)

	// What is of elsewhere can be marked, as far as there is room.
	marked := newPlace(t)
	elsewhere := strings.Replace(raw, `,"tags":["source:chat"]`, "", 1)
	wants(t, "import --mark", marked.learnFrom(elsewhere, 0, "memory", "import", "-", "--mark").out, "imported 2 items")
	wants(t, "marked", marked.mem("get", "workflow:w", "k", "--json").out, `"tags":["source:import"]`)
	wants(t, "from a person there", marked.mem("notes", "list", "workflow:w", "--json").out, `"tags":["source:chat"]`)
	full := strings.Replace(raw, `"tags":["source:chat"]`, `"tags":["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p"]`, 1)
	full = full[:strings.Index(full, "\n{\"note\"")+1]
	crowded := newPlace(t)
	if got := crowded.learnFrom(full, cli.ExitRefused, "memory", "import", "-", "--mark"); !strings.Contains(got.err, "line 2: 17 different tags") || len(crowded.files()) > 0 {
		t.Errorf("a 17th tag: %s; %v", got.err, crowded.files())
	}
	crowded.learnFrom(full, 0, "memory", "import", "-")
}

func TestForgetOneItem(t *testing.T) {
	p := newPlace(t)
	p.mem("set", "workflow:w", "zebra", `"stripes"`)
	p.mem("notes", "add", "workflow:w", "A lesson.", "--id", "n")
	p.mem("notes", "add", "workflow:w", "A rule.", "--source", "n", "--id", "rule")
	for _, args := range [][]string{{"workflow:w", "fact"}, {"workflow:w", "message", "m"}, {"workflow:w", "note", "n", "m"}} {
		p.learn(cli.ExitRefused, append([]string{"memory", "forget", "--yes"}, args...)...)
	}
	p.refuses(memory.InvalidName, "forget", "workflow:w", "lesson", "n", "--yes")
	p.refuses(memory.InvalidName, "forget", "team:w", "--yes")
	wants(t, "forget", p.mem("forget", "workflow:w", "note", "n", "--yes").out, "forgot workflow:w note n: 2 items")
	wants(t, "forget --json", p.mem("forget", "workflow:w", "fact", "zebra", "--yes", "--json").out, `{"what":"workflow:w fact zebra","items":1,"names":1,"words":2}`)
	p.refuses(memory.NotFound, "get", "workflow:w", "zebra")
}

func TestEncryptedMemory(t *testing.T) {
	p := newPlace(t)
	const one, two = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "b:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
	key := func(v string) { t.Setenv("CAIRN_MEMORY_KEY", v) }
	p.refuses(memory.KeyMissing, "rekey")
	p.mem("set", "workflow:w", "before", `"plain quokka"`, "--bank", "b")
	key(one)
	p.refuses(memory.KeyWrong, "get", "workflow:w", "before") // not sealed yet
	wants(t, "rekey", p.mem("rekey").out, "sealed 1 row with key a")
	p.mem("set", "workflow:w", "after", `"sealed quokka"`, "--bank", "b")
	wants(t, "search", p.mem("search", "quokka", "--bank", "b").out, "plain «quokka»", "sealed «quokka»")
	wants(t, "stats", p.mem("stats").out, "none, because memory is encrypted", "encrypted  yes")
	wants(t, "doctor", p.learn(0, "doctor").out, "encrypted")
	key("")
	p.refuses(memory.KeyMissing, "get", "workflow:w", "before")
	wants(t, "up without a key", p.learn(cli.ExitRefused, "up", "learner").err, "MEMORY_KEY_MISSING", "CAIRN_MEMORY_KEY")
	wants(t, "doctor without a key", p.learn(cli.ExitFailed, "doctor").out, "WRONG  memory", "MEMORY_KEY_MISSING")
	key(two + "," + one)
	wants(t, "rotation", p.mem("rekey", "--json").out, `{"key":"b","sealed":2}`)
	key(two)
	if got := p.mem("get", "workflow:w", "before").out; got != "\"plain quokka\"\n" {
		t.Errorf("after the rotation: %q", got)
	}
	for _, wrong := range []string{"a", "a:!!", "a:AAAA", one + "," + one, ":" + one[2:]} {
		key(wrong)
		p.refuses(cli.BadUsage, "stats")
	}
	key("b" + one[1:])
	p.refuses(memory.KeyWrong, "get", "workflow:w", "before")
}

// queueDead leaves a projection that the remote backend has refused, and one that waits.
func (p place) queueDead() {
	p.memory(func(ctx context.Context, _ *dbfile.DB, m *lanes.Store) error {
		ns := memory.Namespace{Kind: memory.WorkflowKind, ID: "w"}
		for _, id := range []string{"op-1", "op-2"} {
			ref := memory.Ref{Namespace: ns, Lane: memory.FactLane, ID: "k"}
			if err := m.Enqueue(ctx, memory.Projection{ID: id, Document: "doc-" + id, Item: ref, Body: json.RawMessage("{}")}); err != nil {
				return err
			}
		}
		return m.Dead(ctx, "op-1", "400: no such bank")
	})
}

func TestMemoryOutbox(t *testing.T) {
	p := newPlace(t)
	p.mem("set", "workflow:w", "k", "1")
	p.queueDead()
	wants(t, "ls", p.mem("outbox", "ls").out, "op-1  doc-op-1  1        dead     1", "400: no such bank", "op-2  doc-op-2  1        waiting  0")
	if dead := lines[memory.Projection](t, p.mem("outbox", "ls", "--dead", "--json").out); len(dead) != 1 || !dead[0].Dead {
		t.Errorf("ls --dead: %+v", dead)
	}
	wants(t, "doctor", p.learn(cli.ExitFailed, "doctor").out, "WRONG  projections  op-1 of document doc-op-1 is dead after 1 attempt: 400: no such bank")
	p.refuses(cli.BadUsage, "outbox", "retry")
	p.refuses(cli.BadUsage, "outbox", "drop", "op-1", "--dead")
	p.refuses(memory.NotFound, "outbox", "drop", "op-2", "op-3")
	wants(t, "retry", p.mem("outbox", "retry", "--dead").out, "made due 1 projection")
	p.learn(0, "doctor")
	wants(t, "drop", p.mem("outbox", "drop", "op-1", "op-2", "--json").out, `{"done":2}`)
	if left := p.mem("outbox", "ls", "--json").out; left != "" {
		t.Errorf("after drop: %s", left)
	}
}

func TestMemoryExamples(t *testing.T) {
	p := newPlace(t)
	for _, group := range [][]string{{"memory"}, {"memory", "notes"}, {"memory", "threads"}, {"memory", "primers"}, {"memory", "outbox"}, {"memory", "search"}, {"doctor"}} {
		out := p.learn(0, append(group, "--help")...).out
		wants(t, strings.Join(group, " "), out, "Usage:")
	}
	wants(t, "an example of a command in a group in a group", p.learn(0, "memory", "notes", "add", "--help").out, "  run memory notes add workflow:runbook")
}
