package main

import (
	"bytes"
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
