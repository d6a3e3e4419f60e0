package tool_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/tool"
)

// TestBound: tools tell where they work, a root as a directory by name, and a shell what it may do there; no value of a variable
// is told.
func TestBound(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	named, open := tool.FilesIn(dir, tool.FileLimits{}), tool.Files(root, tool.FileLimits{})
	for i := range named {
		if named[i].Bound != "in "+dir || open[i].Bound != named[i].Bound {
			t.Errorf("%s is bound to %q by name and to %q by root", named[i].Name, named[i].Bound, open[i].Bound)
		}
	}
	t.Chdir(dir)
	if got := tool.FilesIn("sub", tool.FileLimits{})[0].Bound; got != "in "+filepath.Join(dir, "sub") {
		t.Errorf("a relative name is %q", got)
	}
	base := tool.ShellPolicy{Inherit: []string{"TERM"}, Env: []string{"KEY=CANARY"}}
	seen := map[string]string{}
	for name, change := range map[string]func(*tool.ShellPolicy){
		"base":     func(*tool.ShellPolicy) {},
		"network":  func(p *tool.ShellPolicy) { p.Network = true },
		"shell":    func(p *tool.ShellPolicy) { p.Shell = "/bin/other" },
		"inherits": func(p *tool.ShellPolicy) { p.Inherit = nil },
		"env":      func(p *tool.ShellPolicy) { p.Env = nil },
	} {
		p := base
		change(&p)
		got := tool.ShellIn(dir, p).Bound
		if !strings.HasPrefix(got, "in "+dir) || strings.Contains(got, "CANARY") {
			t.Errorf("%s is bound to %q", name, got)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%s is bound as %s: %q", name, other, got)
		}
		seen[got] = name
	}
	free := tool.New("free", "Does nothing.", func(context.Context, struct{}) (string, error) { return "", nil })
	own := tool.New("own", "Does nothing.", func(context.Context, struct{}) (string, error) { return "", nil }, tool.Bound("there"))
	if free.Bound != "" || own.Bound != "there" {
		t.Errorf("tools of functions are bound to %q and %q", free.Bound, own.Bound)
	}
}
