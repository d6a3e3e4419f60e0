package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/tool"
	"pgregory.net/rapid"
)

// canary stands in every file outside of the root, and in the names of some.
const canary = "CANARY"

// A cage is a root with ways out of it, and the world around.
type cage struct {
	kit
	around, root string
	// before is what the world around looked like.
	before string
}

// ways are the paths of links in the cage that lead out, and of what lies behind them.
var ways = []string{
	"file", "file/", "dir", "dir/secret", "dir/new", "dir/sub/secret", "abs", "absdir", "absdir/secret", "dangling", "dangling/x", "chain", "chain/secret", "up", "up/secret",
	"in/up", "in/up/secret", "in/up/root/file", "loop", "loop/x", "proc", "proc/environ", "proc/root", "proc/cwd/secret", "environ", "fd", "fd/0",
}

func newCage(t testing.TB, within door) *cage {
	t.Helper()
	c := &cage{around: t.TempDir()}
	c.root = filepath.Join(c.around, "root")
	for name, text := range map[string]string{"secret": canary, "sub/secret": canary, "root-sibling/secret": canary, "sub/" + canary: "", "root/in/file": "inside\n", "root/file.txt": "inside\n", "root/Case": "inside\n"} {
		write(t, filepath.Join(c.around, name), text)
	}
	for name, to := range map[string]string{
		"file": "../secret", "dir": "../sub", "dir2": "..", "abs": filepath.Join(c.around, "secret"), "absdir": c.around, "dangling": "../new", "chain": "dir2",
		"up": "..", "in/up": "../..", "loop": "loop", "proc": "/proc/self", "environ": "/proc/self/environ", "fd": "/proc/self/fd", "good": "in", "in/good": "file",
	} {
		if err := os.Symlink(to, filepath.Join(c.root, name)); err != nil {
			t.Skip("no symbolic links: ", err)
		}
	}
	if err := os.Remove(filepath.Join(c.root, "dir")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../sub", filepath.Join(c.root, "dir")); err != nil {
		t.Fatal(err)
	}
	c.kit = kitOf(t, within(t, c.root, tool.ShellPolicy{})...)
	c.before = c.world(t)
	return c
}

// A door makes all tools that work in a directory.
type door func(t testing.TB, dir string, policy tool.ShellPolicy) []cairn.Tool

// doors are the ways into a directory, none of which leads further.
var doors = map[string]door{
	"an open root": func(t testing.TB, dir string, policy tool.ShellPolicy) []cairn.Tool {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		return append(tool.Files(root, tool.FileLimits{}), tool.Shell(root, policy))
	},
	"a name": func(_ testing.TB, dir string, policy tool.ShellPolicy) []cairn.Tool {
		return append(tool.FilesIn(dir, tool.FileLimits{}), tool.ShellIn(dir, policy))
	},
}

// inCages runs a test in a cage for each door.
func inCages(t *testing.T, test func(t *testing.T, c *cage)) {
	t.Helper()
	for name, door := range doors {
		t.Run(name, func(t *testing.T) { test(t, newCage(t, door)) })
	}
}

// world is all that is outside of the root: names, contents, links.
func (c *cage) world(t testing.TB) string {
	var b strings.Builder
	err := filepath.WalkDir(c.around, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == c.root {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			text = content(t, path)
		}
		if path != c.around {
			fmt.Fprintln(&b, path, info.Mode(), info.ModTime().UnixNano(), text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// attack gives a path to every tool, and fails if anything of the world comes out.
func (c *cage) attack(t fataler, ctx context.Context, path string) {
	for name, inputs := range map[string][]in{
		"fs_read":  {{"path": path}, {"path": path, "offset": 1}},
		"fs_list":  {{"path": path}},
		"fs_glob":  {{"pattern": path}, {"pattern": path + "/**"}, {"pattern": "**", "path": path}, {"pattern": path, "path": "in"}},
		"fs_grep":  {{"pattern": ".", "path": path}, {"pattern": "CAN", "glob": path}, {"pattern": "^", "path": path, "glob": "**/*"}},
		"fs_edit":  {{"path": path, "old": "CAN", "new": "x"}, {"path": path, "old": "A", "new": "B", "all": true}},
		"fs_write": {{"path": path, "text": "written"}, {"path": path + "/new", "text": "written"}},
	} {
		for _, with := range inputs {
			got, err := c.call(ctx, name, with)
			if all := fmt.Sprint(got, err); strings.Contains(strings.ReplaceAll(all, path, ""), canary) || strings.Contains(all, "PATH=") {
				t.Fatalf("%s %q has got out: %q, %v", name, with, got, err)
			}
			if err != nil && !strings.Contains(path, c.around) && strings.Contains(err.Error(), c.around) {
				t.Fatalf("%s %q tells where the root is: %v", name, with, err)
			}
		}
	}
}

func (c *cage) intact(t testing.TB) {
	t.Helper()
	if after := c.world(t); after != c.before {
		t.Fatalf("the world outside was\n%s\nand is\n%s", c.before, after)
	}
}

func hardPaths(c *cage) []string {
	all := []string{
		"..", "../", "../secret", "./../secret", "in/../../secret", "in/../..", "....//secret", "..\\secret", "in\\..\\..\\secret", ".. /secret", "..%2fsecret", "%2e%2e/secret", "‥/secret",
		"../root-sibling/secret", "../root/../secret", "in/./../../secret", "//secret", "/", "/etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "file:///etc/passwd", "~", "~/secret",
		"C:\\Windows", "C:secret", "\\\\host\\share", "NUL", "CON", "in/file:stream", "$HOME", "`pwd`",
		c.around, c.around + "/secret", c.root, c.root + "/../secret", c.root + "/in/file",
		"a\nb", "\n", "\x00", "file.txt\x00/../../secret", "\xff\xfe", "in/\r", strings.Repeat("a", 256), strings.Repeat("a/", 3000), strings.Repeat("../", 500) + "secret", strings.Repeat("in/up/root/", 50) + "secret",
		"case", "CASE", "FILE", "DIR/secret", "Up/secret", "uP/secret", ".", "./", "", " ", "-rf", "--", "*", "**", "{..,in}/secret", "[.][.]/secret", "?./secret", "{,../}secret", "in/{up,x}/secret",
	}
	return append(all, ways...)
}

// No path brings anything from outside of the root, or changes anything there.
func TestNoPathLeadsOut(t *testing.T) { inCages(t, noPathLeadsOut) }

func noPathLeadsOut(t *testing.T, c *cage) {
	for _, path := range hardPaths(c) {
		c.attack(t, t.Context(), path)
	}
	c.intact(t)
	// The cage has not become smaller than it is.
	for _, path := range []string{"in/file", "good/file", "in/good", "./in//file"} {
		c.want(t, "fs_read", in{"path": path}, strings.TrimPrefix(strings.ReplaceAll(path, "//", "/"), "./")+": lines 1-1 of 1, 7 bytes in all\ninside\n")
	}
}

// What is refused is refused with a code that says why.
func TestWaysOutAreToldApart(t *testing.T) { inCages(t, waysOutAreToldApart) }

func waysOutAreToldApart(t *testing.T, c *cage) {
	for _, path := range []string{"../secret", "/etc/passwd", "in/../../secret", "file", "abs", "dir/secret", "dangling/x", "in/up/secret", "chain/secret", c.root + "/in/file"} {
		c.refuses(t, "fs_read", in{"path": path}, tool.Outside)
	}
	for _, path := range []string{"a\x00", "\xff", strings.Repeat("a", 256), strings.Repeat("a/", 3000)} {
		_, err := tool.Clean(path)
		if err == nil {
			t.Errorf("%.20q is taken", path)
		}
	}
	for _, path := range []string{"file", "dangling", "abs", "in/good"} {
		c.refuses(t, "fs_write", in{"path": path, "text": "x"}, tool.NotAFile, "symbolic link")
	}
	for _, path := range []string{"dir/new", "up/new", "absdir/x/y", "dangling/x"} {
		got, err := c.call(t.Context(), "fs_write", in{"path": path, "text": "x"})
		if err == nil {
			t.Errorf("fs_write %s: %q", path, got)
		}
	}
	c.intact(t)
}

func TestNoRandomPathLeadsOut(t *testing.T) { inCages(t, noRandomPathLeadsOut) }

func noRandomPathLeadsOut(t *testing.T, c *cage) {
	parts := append(hardPaths(c), "in", "good", "secret", "new", "root", "sub", "up", "dir2", "..", ".", "", "/")
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfN(rapid.SampledFrom(parts), 1, 5).Draw(rt, "parts")
		path := strings.Join(some, rapid.SampledFrom([]string{"/", "//", "/./", "\\", ""}).Draw(rt, "between"))
		c.attack(rt, t.Context(), path)
	})
	c.intact(t)
}

func FuzzPath(f *testing.F) {
	var cages []*cage
	for _, door := range doors {
		cages = append(cages, newCage(f, door))
	}
	for _, path := range hardPaths(cages[0]) {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if strings.Contains(path, canary) {
			t.Skip("errors repeat the path")
		}
		for _, c := range cages {
			c.attack(t, t.Context(), path)
			c.intact(t)
		}
	})
}

// A folder and a file that turn into links while calls run lead nowhere either.
func TestSwappedDuringTheCall(t *testing.T) { inCages(t, swappedDuringTheCall) }

func swappedDuringTheCall(t *testing.T, c *cage) {
	inside := func(names ...string) string { return filepath.Join(append([]string{c.root}, names...)...) }
	for _, name := range []string{"real/secret", "real/sub/secret", "plain"} {
		write(t, inside(name), "inside\n")
	}
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	must(os.Symlink(c.around, inside("way")))
	must(os.Symlink(filepath.Join(c.around, "secret"), inside("way-file")))
	must(os.Symlink("real", inside("swap")))
	must(os.Symlink("plain", inside("swap-file")))

	ctx, cancel := context.WithCancel(t.Context())
	swapped := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			// A link to the inside, a link to the outside, a real folder: each takes the place of the other.
			for _, to := range []string{c.around, "real"} {
				must(os.Symlink(to, inside("next")))
				must(os.Rename(inside("next"), inside("swap")))
				runtime.Gosched()
			}
			for _, to := range []string{filepath.Join(c.around, "secret"), "plain"} {
				must(os.Symlink(to, inside("next")))
				must(os.Rename(inside("next"), inside("swap-file")))
			}
			// A real folder. The calls make it anew while it is away, so these may fail.
			_ = os.Rename(inside("real", "sub"), inside("real", "aside"))
			_ = os.Symlink(filepath.Join(c.around, "sub"), inside("real", "sub"))
			runtime.Gosched()
			_ = os.RemoveAll(inside("real", "sub"))
			_ = os.Rename(inside("real", "aside"), inside("real", "sub"))
		}
		swapped <- n
	}()
	answered := 0
	for range 30 {
		for _, path := range []string{"swap", "swap/secret", "swap/sub/secret", "real/sub", "real/sub/secret", "swap-file", "swap/sub"} {
			c.attack(t, ctx, path)
		}
		if got, err := c.call(ctx, "fs_read", in{"path": "swap/secret"}); err == nil && (strings.Contains(got, "inside") || strings.Contains(got, "written")) {
			answered++
		}
	}
	cancel()
	if n := <-swapped; n < 10 || answered == 0 {
		t.Logf("swapped %d times, read inside %d times: little was tried", n, answered)
	}
	c.intact(t)
}

func TestArtifactHashesAreNoPaths(t *testing.T) {
	c := newCage(t, doors["an open root"])
	k := kitOf(t, tool.ReadArtifact())
	ctx := withArtifacts(t.Context(), &shelf{})
	for _, path := range hardPaths(c) {
		raw, _ := json.Marshal(in{"artifact": path})
		if got, err := k["artifact_read"].Call(ctx, raw); err == nil {
			t.Errorf("%q: %s", path, got)
		}
	}
}
