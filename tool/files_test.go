package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/tool"
)

// kit is a set of tools to call by name.
type kit map[string]cairn.Tool

func kitOf(t testing.TB, tools ...cairn.Tool) kit {
	t.Helper()
	if err := tool.Check(tools...); err != nil {
		t.Fatal(err)
	}
	k := kit{}
	for _, one := range tools {
		k[one.Name] = one
	}
	return k
}

// call calls a tool and returns the text it answers with.
func (k kit) call(ctx context.Context, name string, in any) (string, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	out, err := k[name].Call(ctx, raw)
	if err != nil {
		return "", err
	}
	var text string
	if json.Unmarshal(out, &text) != nil {
		return string(out), nil
	}
	return text, nil
}

func (k kit) want(t *testing.T, name string, in any, want string) {
	t.Helper()
	got, err := k.call(t.Context(), name, in)
	if err != nil || got != want {
		t.Errorf("%s %v: got %q, %v, want %q", name, in, got, err, want)
	}
}

func (k kit) refuses(t *testing.T, name string, in any, code cairn.Code, parts ...string) {
	t.Helper()
	got, err := k.call(t.Context(), name, in)
	if !errors.Is(err, code) {
		t.Errorf("%s %v: got %q, %v, want %s", name, in, got, err, code)
		return
	}
	var e *cairn.Error
	if !errors.As(err, &e) || e.Next == "" {
		t.Errorf("%s %v: %v says nothing to do", name, in, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s %v: %q lacks %q", name, in, err, part)
		}
	}
}

type in map[string]any

// workspace is a root with files in it.
func workspace(t testing.TB, files map[string]string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRead(t *testing.T) {
	long := strings.Repeat("ä", 100) + "\nend\n"
	root, _ := workspace(t, map[string]string{
		"a.txt": "one\ntwo\nthree\nfour", "empty": "", "bin": "a\x00b", "long": long, "latin": "caf\xe9\n", "dir/x": "x\n", "many": strings.Repeat("0123456789\n", 10),
	})
	k := kitOf(t, tool.Files(root, tool.FileLimits{MaxAnswer: 45})...)
	k.want(t, "fs_read", in{"path": "a.txt"}, "a.txt: lines 1-4 of 4, 18 bytes in all\none\ntwo\nthree\nfour")
	k.want(t, "fs_read", in{"path": "./a.txt", "from": 2, "lines": 2}, "a.txt: lines 2-3 of 4, 18 bytes in all; goes on at line 4\ntwo\nthree\n")
	k.want(t, "fs_read", in{"path": "a.txt", "from": 4, "lines": 9}, "a.txt: lines 4-4 of 4, 18 bytes in all\nfour")
	k.want(t, "fs_read", in{"path": "empty"}, "empty: empty\n")
	k.want(t, "fs_read", in{"path": "latin"}, "latin: lines 1-1 of 1, 5 bytes in all\ncaf\uFFFD\n")
	k.want(t, "fs_read", in{"path": "many"}, "many: lines 1-4 of 10, 110 bytes in all; goes on at line 5\n"+strings.Repeat("0123456789\n", 4))
	k.want(t, "fs_read", in{"path": "long"}, "long: bytes 0-44 of 205, lines 1-1 of 2; goes on at offset 44\n"+strings.Repeat("ä", 22))
	k.want(t, "fs_read", in{"path": "long", "offset": 45}, "long: bytes 46-90 of 205, lines 1-1 of 2; goes on at offset 90\n"+strings.Repeat("ä", 22))
	k.want(t, "fs_read", in{"path": "long", "offset": 196}, "long: bytes 196-205 of 205, lines 1-2 of 2\nää\nend\n")
	k.want(t, "fs_read", in{"path": "a.txt", "from": 4, "lines": math.MaxInt}, "a.txt: lines 4-4 of 4, 18 bytes in all\nfour")
	k.refuses(t, "fs_read", in{"path": "a.txt", "offset": math.MaxInt}, tool.BadRange)
	k.refuses(t, "fs_read", in{"path": "a.txt", "from": 5}, tool.BadRange, "has 4 lines, 18 bytes")
	k.refuses(t, "fs_read", in{"path": "a.txt", "offset": 18}, tool.BadRange)
	k.refuses(t, "fs_read", in{"path": "bin"}, tool.Binary, "3 bytes in all")
	k.refuses(t, "fs_read", in{"path": "dir"}, tool.NotAFile, "folder")
	k.refuses(t, "fs_read", in{"path": "none"}, tool.NotFound, "there is no none")
	k.refuses(t, "fs_read", in{"path": "a.txt/x"}, tool.Failed)
	k.refuses(t, "fs_read", in{"path": ""}, tool.BadInput)
	k.refuses(t, "fs_read", in{"path": "a.txt", "from": -1}, tool.BadInput, "at least 1")
}

// Whoever goes on where an answer says so has read all of the file.
func TestReadingOnGetsAll(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "%d %s\n", i, strings.Repeat("wörd ", i%37*i%11))
	}
	text.WriteString(strings.Repeat("no end of line ", 6000))
	root, _ := workspace(t, map[string]string{"f": text.String()})
	for _, max := range []int{500, 1 << 10, 70 << 10, 1 << 20} {
		k := kitOf(t, tool.Files(root, tool.FileLimits{MaxAnswer: max})...)
		got, next := "", in{"path": "f"}
		for range 500 {
			answer, err := k.call(t.Context(), "fs_read", next)
			if err != nil {
				t.Fatal(err)
			}
			head, part, _ := strings.Cut(answer, "\n")
			if len(part) > max {
				t.Fatalf("%d bytes are more than %d", len(part), max)
			}
			got += part
			_, on, more := strings.Cut(head, "goes on at ")
			if !more {
				break
			}
			var at int
			if _, err := fmt.Sscanf(on, "line %d", &at); err == nil {
				next = in{"path": "f", "from": at}
			} else if _, err := fmt.Sscanf(on, "offset %d", &at); err == nil {
				next = in{"path": "f", "offset": at}
			} else {
				t.Fatal(head)
			}
		}
		if got != text.String() {
			t.Errorf("in parts of %d: %d bytes, want %d", max, len(got), text.Len())
		}
	}
}

func TestWrite(t *testing.T) {
	root, dir := workspace(t, map[string]string{"old.sh": "#!/bin/sh\n", "dir/x": "x"})
	if err := os.Chmod(filepath.Join(dir, "old.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	k := kitOf(t, tool.Files(root, tool.FileLimits{MaxFile: 20})...)
	k.want(t, "fs_write", in{"path": "new/deep/a.txt", "text": "héllo\n"}, "new/deep/a.txt: new, 7 bytes")
	k.want(t, "fs_write", in{"path": "old.sh", "text": "echo\n"}, "old.sh: 5 bytes in place of 10")
	if got := content(t, filepath.Join(dir, "new/deep/a.txt")); got != "héllo\n" {
		t.Errorf("written %q", got)
	}
	if info, err := os.Stat(filepath.Join(dir, "old.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode is now %v, %v", info.Mode(), err)
	}
	k.refuses(t, "fs_write", in{"path": "dir", "text": ""}, tool.NotAFile)
	k.refuses(t, "fs_write", in{"path": ".", "text": ""}, tool.BadName)
	k.refuses(t, "fs_write", in{"path": "a\nb", "text": ""}, tool.BadName)
	k.refuses(t, "fs_write", in{"path": "dir/x/y", "text": ""}, tool.Failed)
	k.refuses(t, "fs_write", in{"path": "big", "text": strings.Repeat("x", 21)}, tool.TooLarge)
	if left, _ := filepath.Glob(filepath.Join(dir, "**", ".cairn-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if w := k["fs_write"]; !w.SideEffect || !w.Idempotent {
		t.Error("fs_write is not marked")
	}
}

func TestEdit(t *testing.T) {
	const before = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	root, dir := workspace(t, map[string]string{"a.go": before, "crlf": "a\r\nb\r\n", "bin": "a\x00", "bytes": "x\xffy\r\n"})
	k := kitOf(t, tool.Files(root, tool.FileLimits{})...)
	k.refuses(t, "fs_edit", in{"path": "a.go", "old": "return 1", "new": "return 2"}, tool.Ambiguous, "2 times, in lines 2, 6")
	k.refuses(t, "fs_edit", in{"path": "a.go", "old": "return 3", "new": "return 2"}, tool.NoMatch)
	k.refuses(t, "fs_edit", in{"path": "a.go", "old": "func b() {\n    return 1", "new": ""}, tool.NoMatch, "with other white space it is in line 5")
	k.refuses(t, "fs_edit", in{"path": "crlf", "old": "a\nb", "new": ""}, tool.NoMatch, `end with \r\n`)
	k.refuses(t, "fs_edit", in{"path": "a.go", "old": "a", "new": "a"}, tool.NoMatch, "same text")
	k.refuses(t, "fs_edit", in{"path": "a.go", "old": "", "new": "a"}, tool.BadInput)
	k.refuses(t, "fs_edit", in{"path": "none", "old": "a", "new": ""}, tool.NotFound)
	k.refuses(t, "fs_edit", in{"path": "bin", "old": "a", "new": ""}, tool.Binary)
	if got := content(t, filepath.Join(dir, "a.go")); got != before {
		t.Fatalf("a refused edit has written %q", got)
	}
	k.want(t, "fs_edit", in{"path": "a.go", "old": "b() {\n\treturn 1", "new": "b() {\n\treturn 2"}, "a.go: replaced 1, from line 5")
	k.want(t, "fs_edit", in{"path": "a.go", "old": "func", "new": "fn", "all": true}, "a.go: replaced 2, from line 1")
	if got, want := content(t, filepath.Join(dir, "a.go")), "fn a() {\n\treturn 1\n}\n\nfn b() {\n\treturn 2\n}\n"; got != want {
		t.Errorf("edited to %q", got)
	}
	k.want(t, "fs_edit", in{"path": "bytes", "old": "y", "new": "z"}, "bytes: replaced 1, from line 1")
	if got := content(t, filepath.Join(dir, "bytes")); got != "x\xffz\r\n" {
		t.Errorf("edited to %q", got)
	}
	if e := k["fs_edit"]; !e.SideEffect || e.Idempotent {
		t.Error("fs_edit is not marked")
	}
}

// Edits side by side all arrive.
func TestEditsDoNotLoseOneAnother(t *testing.T) {
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	root, dir := workspace(t, map[string]string{"f": text.String()})
	k := kitOf(t, tool.Files(root, tool.FileLimits{})...)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := k.call(t.Context(), "fs_edit", in{"path": "f", "old": fmt.Sprintf("<%d>", i), "new": "done"}); err != nil {
				t.Error(err)
			}
			if got, err := k.call(t.Context(), "fs_read", in{"path": "f"}); err != nil || !strings.Contains(got, "of 20") {
				t.Errorf("half a file: %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if got := content(t, filepath.Join(dir, "f")); got != strings.Repeat("done\n", 20) {
		t.Errorf("edited to %q", got)
	}
}

func TestListings(t *testing.T) {
	root, dir := workspace(t, map[string]string{
		"b.go": "package b\n", "a/x.go": "x\n", "a/deep/y.go": "yy\n", "a/z.txt": "z", ".git/config.go": "g", "we\nird": "",
	})
	if err := os.Symlink("b.go", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range []string{"b.go", "a/x.go", "a/deep/y.go", "a/z.txt", "we\nird", "a", ".git", ".git/config.go"} {
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	at := "2026-01-02T03:04:05Z"
	producer := func(path string) string { return map[string]string{"b.go": "plan[2]/step"}[path] }
	k := kitOf(t, tool.Files(root, tool.FileLimits{Producer: producer})...)
	got, err := k.call(t.Context(), "fs_list", in{})
	for _, row := range []string{"./: 5 entries\n", ".git/  " + at + "\na/  " + at + "\nb.go  10 bytes  " + at + "  by plan[2]/step\nlink  symbolic link to b.go  ", `"we\nird"  0 bytes  ` + at + "\n"} {
		if err != nil || !strings.Contains(got, row) {
			t.Errorf("%v: %q lacks %q", err, got, row)
		}
	}
	k.want(t, "fs_list", in{"path": "a/deep"}, "a/deep/: 1 entry\na/deep/y.go  3 bytes  "+at+"\n")
	k.refuses(t, "fs_list", in{"path": "b.go"}, tool.NotAFile)
	k.refuses(t, "fs_list", in{"path": "none"}, tool.NotFound)

	k.want(t, "fs_glob", in{"pattern": "**/*.go"}, "**/*.go: 3 entries\na/deep/y.go  3 bytes  "+at+"\na/x.go  2 bytes  "+at+"\nb.go  10 bytes  "+at+"  by plan[2]/step\n")
	k.want(t, "fs_glob", in{"pattern": "*.go", "path": "a"}, "*.go: 1 entry\na/x.go  2 bytes  "+at+"\n")
	k.want(t, "fs_glob", in{"pattern": "a/{deep/y,none}.{go,c}"}, "a/{deep/y,none}.{go,c}: 1 entry\na/deep/y.go  3 bytes  "+at+"\n")
	k.want(t, "fs_glob", in{"pattern": ".git/*"}, ".git/*: 1 entry\n.git/config.go  1 bytes  "+at+"\n")
	k.want(t, "fs_glob", in{"pattern": "no/such/*"}, "no/such/*: 0 entries\n")
	k.refuses(t, "fs_glob", in{"pattern": "[a"}, tool.BadPattern)
	k.refuses(t, "fs_glob", in{"pattern": "*", "path": "none"}, tool.NotFound)

	few := kitOf(t, tool.Files(root, tool.FileLimits{MaxEntries: 1, MaxVisited: 7, Skip: []string{}})...)
	if got, err := few.call(t.Context(), "fs_glob", in{"pattern": "**"}); err != nil || !strings.Contains(got, "at least") || !strings.Contains(got, "the first 1 of them") || !strings.Contains(got, "stopped") {
		t.Errorf("a capped listing: %q, %v", got, err)
	}
}

func TestWhoWroteAFile(t *testing.T) {
	root, _ := workspace(t, map[string]string{"other": ""})
	k := kitOf(t, tool.Files(root, tool.FileLimits{})...)
	ctx := cairn.WithCall(t.Context(), &cairn.Call{Path: "plan[2]/step"})
	if _, err := k.call(ctx, "fs_write", in{"path": "mine", "text": "x"}); err != nil {
		t.Fatal(err)
	}
	got, err := k.call(t.Context(), "fs_list", in{})
	if err != nil || strings.Count(got, "  by ") != 1 || !strings.HasSuffix(strings.Split(got, "\n")[1], "  by plan[2]/step") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestGrep(t *testing.T) {
	root, dir := workspace(t, map[string]string{
		"a.go": "one\ntwo\nthree\nfour\nfive\nsix\nseven\n", "b/c.txt": "TWO\r\n", "bin": "two\x00", "big": strings.Repeat("two\n", 100), "long": strings.Repeat("x", 500) + "two\n",
	})
	k := kitOf(t, tool.Files(root, tool.FileLimits{MaxFile: 399 + 200, MaxAnswer: 2000})...)
	k.want(t, "fs_grep", in{"pattern": "^t", "glob": "*.go"}, "2 matches in 1 files, 1 searched\na.go:2:two\na.go:3:three\n")
	k.want(t, "fs_grep", in{"pattern": "(?i)two", "path": "b"}, "1 matches in 1 files, 1 searched\nb/c.txt:1:TWO\n")
	k.want(t, "fs_grep", in{"pattern": "one|four|seven", "path": "a.go", "context": 1}, "3 matches in 1 files, 1 searched\na.go:1:one\na.go-2-two\na.go-3-three\na.go:4:four\na.go-5-five\na.go-6-six\na.go:7:seven\n")
	k.want(t, "fs_grep", in{"pattern": "two|six", "path": "a.go", "context": 1}, "2 matches in 1 files, 1 searched\na.go-1-one\na.go:2:two\na.go-3-three\n--\na.go-5-five\na.go:6:six\na.go-7-seven\n")
	k.want(t, "fs_grep", in{"pattern": "nowhere"}, "0 matches in 0 files, 4 searched; left out 1 binary\n")
	k.want(t, "fs_grep", in{"pattern": "two", "path": "long"}, "1 matches in 1 files, 1 searched\nlong:1:"+strings.Repeat("x", 400)+" … (503 bytes)\n")
	small := kitOf(t, tool.Files(root, tool.FileLimits{MaxFile: 300, MaxAnswer: 20})...)
	small.want(t, "fs_grep", in{"pattern": "e", "path": "a.go"}, "4 matches in 1 files, 1 searched; the first 1 here\na.go:1:one\n")
	k.refuses(t, "fs_grep", in{"pattern": "("}, tool.BadPattern, "regular expression")
	k.refuses(t, "fs_grep", in{"pattern": "a", "path": "a.go", "glob": "*"}, tool.NotAFile)
	k.refuses(t, "fs_grep", in{"pattern": "a", "path": "none"}, tool.NotFound)
	k.refuses(t, "fs_grep", in{"pattern": "a", "context": 21}, tool.BadInput)
	if err := os.Chmod(filepath.Join(dir, "a.go"), 0); err == nil && os.Getuid() != 0 {
		if got, err := k.call(t.Context(), "fs_grep", in{"pattern": "two"}); err != nil || !strings.Contains(got, "could not be read") {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestFilesEndWithTheirContext(t *testing.T) {
	root, _ := workspace(t, map[string]string{"a": "x\n"})
	k := kitOf(t, tool.Files(root, tool.FileLimits{})...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, with := range map[string]in{"fs_read": {"path": "a"}, "fs_list": {}, "fs_glob": {"pattern": "**"}, "fs_grep": {"pattern": "x"},
		"fs_write": {"path": "b", "text": ""}, "fs_edit": {"path": "a", "old": "x", "new": "y"}} {
		if got, err := k.call(ctx, name, with); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
