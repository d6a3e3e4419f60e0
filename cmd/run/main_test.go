package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const asProgram = "CAIRN_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// The program runs its examples in an empty directory, with nothing but its name and theirs.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	command := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0], args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asProgram+"=1", "CAIRN_DB=")
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, errOut.String())
		}
		return string(out)
	}
	if out := command("workflows"); !strings.Contains(out, "audit: ") || !strings.Contains(out, `up hello --input '{"name":"world"}'`) {
		t.Errorf("workflows: %s", out)
	}
	if out := command("up", "hello"); out != "\"HELLO, WORLD!\"\n" {
		t.Errorf("hello: %s", out)
	}
	for _, knew := range []string{"nothing", "a lesson"} { // the second run has the memory of the first
		if out := command("up", "runbook"); !strings.Contains(out, `"knew":"`+knew+`"`) {
			t.Errorf("runbook, to know %s: %s", knew, out)
		}
	}
	if out := command("up", "runbook-rules"); !strings.Contains(out, `"proposed":["rule-`) {
		t.Errorf("runbook-rules: %s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nfunc F() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := command("up", "audit"); !strings.Contains(out, `"packages":1,"files":1,"lines":3,"undocumented":1`) {
		t.Errorf("audit: %s", out)
	}
	for _, name := range []string{"cairn.db", "artifacts"} {
		if _, err := os.Stat(filepath.Join(dir, ".cairn", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestExamplesLintClean: the windows of the examples are as the program itself asks them to be. Nothing is written.
func TestExamplesLintClean(t *testing.T) {
	dir := t.TempDir()
	command := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(os.Args[0], args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asProgram+"=1", "CAIRN_DB=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return out
	}
	agents := 0
	for line := range bytes.Lines(command("workflows", "--json")) {
		var w struct{ Name string }
		if err := json.Unmarshal(line, &w); err != nil {
			t.Fatal(err)
		}
		var l struct{ Agents int }
		if err := json.Unmarshal(command("lint-context", w.Name, "--strict", "--json"), &l); err != nil {
			t.Fatal(err)
		}
		agents += l.Agents
	}
	if agents == 0 {
		t.Error("no task of an agent was looked at")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v was written, %v", entries, err)
	}
}
