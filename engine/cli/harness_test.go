package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/engine/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// asProgram makes the test binary the program with the workflows of these tests.
const asProgram = "CAIRN_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		beAgent()
		os.Exit(0)
	}
	if os.Getenv(asProgram) != "" {
		if os.Getenv(limitEnv) != "" {
			workflows = append(workflows, costly)
		}
		cli.Main(workflows...)
	}
	os.Unsetenv("CAIRN_DB")
	os.Exit(m.Run())
}

// place is an empty directory with the database of a test.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T) place {
	t.Helper()
	return place{t, t.TempDir()}
}

func (p place) db() string { return filepath.Join(p.dir, "data", "cairn.db") }

// result is what a command line came to.
type result struct {
	code     int
	out, err string
}

// run runs a command line on the place's database.
func (p place) run(args ...string) result { return p.runWith("", args...) }

func (p place) runWith(in string, args ...string) result {
	p.t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Run(p.t.Context(), append(args, "--db", p.db()), strings.NewReader(in), &out, &errOut, workflows...)
	return result{code, out.String(), errOut.String()}
}

// must runs a command line that has to give a code.
func (p place) must(code int, args ...string) result {
	p.t.Helper()
	r := p.run(args...)
	if r.code != code {
		p.t.Fatalf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", args, r.code, code, r.out, r.err)
	}
	return r
}

// files lists what is in the place.
func (p place) files() (names []string) {
	p.t.Helper()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// canon replaces what differs from run to run.
func (p place) canon(text string) string {
	for _, r := range []struct{ pattern, with string }{
		{regexp.QuoteMeta(p.dir), "DIR"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME"},
		{`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ UTC`, "TIME"},
		{`\b\d+(\.\d+)?m?s\b`, "SPAN"},
		{`("(?:tookMs|t|at|pid|epoch)"):\d+`, "$1:0"},
		{`(?m)(  )[0-9a-f]{12}$`, "${1}HASH"},
		{`"[0-9a-f]{32}"`, `"HASH"`},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return text
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it); got:\n%s", path, got)
	}
}

// lines decodes NDJSON, each line strictly one object.
func lines[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("no JSON: %v in %q", err, line)
		}
		all = append(all, v)
	}
	return all
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}
