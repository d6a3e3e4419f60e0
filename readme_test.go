package cairn_test

import (
	"os"
	"strings"
	"testing"
)

// The workflow in the README is the one that the example runs.
func TestTheREADMEShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(readme), "```go\n")
	code, _, found := strings.Cut(code, "```")
	if !found || !strings.Contains(string(example), code) {
		t.Error("the code in README.md does not stand in example_test.go word for word")
	}
}
