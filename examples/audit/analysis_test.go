package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestUndocumented(t *testing.T) {
	tests := []struct {
		name     string
		src      string
		exported int
		want     []string
	}{
		{"empty", "package p", 0, nil},
		{"func", "package p\nfunc A() {}\nfunc b() {}\n// C is.\nfunc C() {}", 2, []string{"func A"}},
		{"method", "package p\n// T is.\ntype T int\nfunc (T) A() {}\nfunc (t *T) B() {}\nfunc (t T) c() {}", 3, []string{"method T.A", "method T.B"}},
		{"method of unexported type", "package p\ntype t int\nfunc (t) A() {}", 0, nil},
		{"method of generic type", "package p\n// T is.\ntype T[K, V any] int\nfunc (t *T[K, V]) A() {}", 2, []string{"method T.A"}},
		{"method of type in parentheses", "package p\n// T is.\ntype T int\nfunc (t *(T)) A() {}", 2, []string{"method T.A"}},
		{"method without a receiver", "package p\nfunc () A() {}", 0, nil},
		{"method of no named type", "package p\nfunc (t []int) A() {}", 0, nil},
		{"type", "package p\ntype A int\ntype b int\n// C is.\ntype C int\ntype D = int", 3, []string{"type A", "type D"}},
		{"type group", "package p\ntype (\n\tA int\n\t// B is.\n\tB int\n)", 2, []string{"type A"}},
		{"type group with doc", "package p\n// Both are.\ntype (\n\tA int\n\tB int\n)", 2, nil},
		{"const", "package p\nconst A = 1\nconst b = 1\n// C is.\nconst C = 1", 2, []string{"const A"}},
		{"const group", "package p\nconst (\n\tA = iota\n\t// B is.\n\tB\n\tC // is\n\td\n)", 3, []string{"const A"}},
		{"const group with doc", "package p\n// X are.\nconst (\n\tA = iota\n\tB\n)", 2, nil},
		{"var", "package p\nvar A, b, C int\nvar _ = 1\n// D is.\nvar D int", 3, []string{"var A", "var C"}},
		{"fields and interface methods", "package p\n// T is.\ntype T struct { A int }\n// I is.\ntype I interface { B() }", 2, nil},
		{"names inside of functions", "package p\nfunc a() { const A = 1; type B int; _ = A }", 0, nil},
		{"a directive is no documentation", "package p\n//go:noinline\nfunc A() {}", 1, []string{"func A"}},
		{"an empty comment is no documentation", "package p\n//\nfunc A() {}", 1, []string{"func A"}},
		{"a comment apart is no documentation", "package p\n// About A.\n\nfunc A() {}", 1, []string{"func A"}},
		{"a program offers nothing", "package main\nfunc A() {}\ntype B int", 0, nil},
		{"no ASCII", "package p\nfunc Ä() {}\nfunc ä() {}\nfunc 世() {}", 1, []string{"func Ä"}},
		{"cgo", "package p\n/*\n#include <stdio.h>\n*/\nimport \"C\"\n//export A\nfunc A() { C.puts(nil) }", 1, []string{"func A"}},
		{"constraint for no platform", "//go:build never && ever\n\npackage p\nfunc A() {}", 1, []string{"func A"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := analyseRoot(t, tree{"p.go": test.src})
			var got []string
			for _, f := range a.Undocumented.Kept {
				got = append(got, string(f.Kind)+" "+f.Name)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if a.Counts.Exported != test.exported || a.Undocumented.Count != len(test.want) || a.ParseErrors.Count != 0 {
				t.Errorf("got %d exported, %d undocumented, %v", a.Counts.Exported, a.Undocumented.Count, a.ParseErrors.Kept)
			}
		})
	}
}

func TestTodos(t *testing.T) {
	tests := []struct {
		name string
		src  string
		want []Finding
	}{
		{"plain", "// TODO fix it", []Finding{{Kind: KindTodo, Line: 2, Text: "fix it"}}},
		{"colon", "//TODO: fix it", []Finding{{Kind: KindTodo, Line: 2, Text: "fix it"}}},
		{"dash", "// FIXME - fix it", []Finding{{Kind: KindFixme, Line: 2, Text: "fix it"}}},
		{"name", "// TODO(ann, bob): fix it", []Finding{{Kind: KindTodo, Line: 2, Name: "ann, bob", Text: "fix it"}}},
		{"no text", "// TODO", []Finding{{Kind: KindTodo, Line: 2}}},
		{"in the middle", "// This works (TODO: better)", []Finding{{Kind: KindTodo, Line: 2, Text: "better)"}}},
		{"parenthesis", "// TODO (see there) go on", []Finding{{Kind: KindTodo, Line: 2, Text: "(see there) go on"}}},
		{"open parenthesis", "// TODO(see the", []Finding{{Kind: KindTodo, Line: 2, Text: "(see the"}}},
		{"once a line", "// TODO one TODO two", []Finding{{Kind: KindTodo, Line: 2, Text: "one TODO two"}}},
		{"behind code", "var x = 1 // TODO two", []Finding{{Kind: KindTodo, Line: 2, Text: "two"}}},
		{
			"block", "/* TODO one\n\n * FIXME(x) two\n\tTODO three */\nvar y = /* TODO four */ 1",
			[]Finding{
				{Kind: KindTodo, Line: 2, Text: "one"},
				{Kind: KindFixme, Line: 4, Name: "x", Text: "two"},
				{Kind: KindTodo, Line: 5, Text: "three"},
				{Kind: KindTodo, Line: 6, Text: "four"},
			},
		},
		{"carriage returns", "/* TODO one\r\nTODO two\r\n*/\r\n// TODO three\r", []Finding{
			{Kind: KindTodo, Line: 2, Text: "one"},
			{Kind: KindTodo, Line: 3, Text: "two"},
			{Kind: KindTodo, Line: 5, Text: "three"},
		}},
		{"line directive", "//line other.go:900\n// TODO here", []Finding{{Kind: KindTodo, Line: 3, Text: "here"}}},
		{"parts of words", "// TODOs XTODO TODO_x ToDo todo ÄTODO TODOÄ", nil},
		{"talk of a name", "// context.TODO and TODO() and `TODO` and \"TODO\"", nil},
		{"in a string", "var s = \"// TODO no\"", nil},
		{"name that is none", "func TODO() {}", nil},
		{"in a function", "func f() {\n\t// TODO deep\n}", []Finding{{Kind: KindTodo, Line: 3, Text: "deep"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := analyseRoot(t, tree{"p.go": "package p\n" + test.src})
			want := []Finding{}
			for _, f := range test.want {
				f.File = "p.go"
				want = append(want, f)
			}
			if !reflect.DeepEqual(a.Todos.Kept, want) || a.ParseErrors.Count != 0 {
				t.Errorf("got  %+v\nwant %+v\n%v", a.Todos.Kept, want, a.ParseErrors.Kept)
			}
		})
	}
}

func TestTodoTextIsCutBetweenRunes(t *testing.T) {
	a := analyseRoot(t, tree{"p.go": "package p\n// TODO " + strings.Repeat("世", 200) + "\n// TODO " + strings.Repeat("é", 120)})
	if got, want := a.Todos.Kept[0].Text, strings.Repeat("世", 119)+"…"; got != want {
		t.Errorf("got %q", got)
	}
	if got, want := a.Todos.Kept[1].Text, strings.Repeat("é", 120); got != want {
		t.Errorf("got %q", got)
	}
}

func TestLongest(t *testing.T) {
	a := analyseRoot(t, tree{
		"p.go": "package p\n\nfunc one() {}\n\n// Doc.\nfunc (t *T) three(\n\tx int) {\n}\nfunc two() {\n}\nfunc asm()\nfunc uno() {}\n",
		"q.go": "package p\n//line far.go:7\nfunc four() {\n\tfunc() {\n\t}()\n}\n",
		// The length of a test is its own affair, and so is that of generated code.
		"p_test.go": "package p\nfunc TestX() {\n\n\n\n\n\n}\n",
		"gen.go":    "// Code generated by x. DO NOT EDIT.\n\npackage p\nfunc G() {\n\n\n\n\n\n}\n",
	})
	want := []Function{
		{"four", "q.go", 3, 4},
		{"T.three", "p.go", 6, 3},
		{"two", "p.go", 9, 2},
		{"one", "p.go", 3, 1},
		{"asm", "p.go", 11, 1},
		{"uno", "p.go", 12, 1},
	}
	if !reflect.DeepEqual(a.Longest, want) {
		t.Errorf("got  %v\nwant %v", a.Longest, want)
	}
	if a.Counts.Functions != len(want) {
		t.Errorf("got %d functions, want %d", a.Counts.Functions, len(want))
	}
}

func TestCounts(t *testing.T) {
	a := analyseRoot(t, tree{
		"p.go":         "package p\n\nfunc f() {}\n",
		"main.go":      "//go:build ignore\n\npackage main\n\nfunc main() {}",
		"gen.go":       "// Code generated by x. DO NOT EDIT.\n\npackage p\n\n// TODO no\nfunc G() {}\n",
		"p_test.go":    "package p\n\n// TODO yes\n\nfunc Exported() {}\n",
		"x_test.go":    "package p_test\n",
		"gen_test.go":  "// Code generated by x. DO NOT EDIT.\npackage p\n",
		"empty.go":     "",
		"broken.go":    "package p\nfunc {\n",
		"data_test.go": "\n\n",
	})
	want := Counts{
		Files: 9, TestFiles: 4, GeneratedFiles: 2,
		Lines: 3 + 5 + 6 + 5 + 1 + 2 + 0 + 2 + 2, TestLines: 5 + 1 + 2 + 2, GeneratedLines: 6 + 2,
		Functions: 2, Exported: 0,
	}
	if a.Counts != want {
		t.Errorf("got  %+v\nwant %+v", a.Counts, want)
	}
	if !a.HasTests || a.Todos.Count != 1 || a.ParseErrors.Count != 3 {
		t.Errorf("got tests %v, todos %v, errors %v", a.HasTests, a.Todos, a.ParseErrors)
	}
}

func TestParseErrorsAreFindings(t *testing.T) {
	tests := []struct {
		name, src string
		line      int
		text      string
	}{
		{"empty", "", 1, "expected 'package', found 'EOF'"},
		{"syntax", "package p\n\nfunc A() {\n\tx :=\n}\n", 5, "expected operand, found '}'"},
		{"line directive", "package p\n//line /etc/x.go:500\nfunc {\n", 3, "expected 'IDENT', found '{'"},
		{"binary", "\x7fELF\x00\x00", 1, "illegal character U+007F"},
		{"byte order", "package p\n\n// \xff\xfe\n", 3, "illegal UTF-8 encoding"},
		{"conflict", "package p\n<<<<<<< HEAD\n", 2, "expected declaration, found '<<'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := analyseRoot(t, tree{"a.go": "package p\n\n// TODO x\n\nfunc B() {}\n", "b.go": test.src})
			if a.ParseErrors.Count != 1 || len(a.ParseErrors.Kept) != 1 {
				t.Fatalf("got %+v, want one", a.ParseErrors)
			}
			got := a.ParseErrors.Kept[0]
			if got.File != "b.go" || got.Line != test.line || !strings.Contains(got.Text, test.text) {
				t.Errorf("got %+v", got)
			}
			if a.Todos.Count != 1 || a.Undocumented.Count != 1 {
				t.Errorf("the file beside it was not read: %+v", a)
			}
		})
	}
}

func TestFilesThatCannotBeReadAreFindings(t *testing.T) {
	dir := tree{"p/a.go": "package p", "p/big.go": "package p\n" + strings.Repeat("\n", maxFileSize)}.write(t)
	a, err := Analyse(t.Context(), dir, Package{Path: "p", Files: []string{"a.go", "big.go", "gone_test.go"}})
	if err != nil {
		t.Fatal(err)
	}
	if a.Counts.Files != 3 || !a.HasTests || a.ParseErrors.Count != 2 {
		t.Errorf("got %+v", a)
	}
	for _, f := range a.ParseErrors.Kept {
		if strings.Contains(f.Text, dir) || f.Text == "" || f.Line != 1 {
			t.Errorf("got %+v", f)
		}
	}
}

func TestAnalyseKeepsToItsDirectory(t *testing.T) {
	dir := tree{"in/a.go": "package a", "secret.go": "package secret"}.write(t)
	_, err := Analyse(t.Context(), filepath.Join(dir, "in"), Package{Path: "..", Files: []string{"secret.go"}})
	if err == nil {
		t.Error("got no error for a file outside of the directory")
	}
}

func TestAnalyseNeedsItsDirectory(t *testing.T) {
	_, err := Analyse(t.Context(), filepath.Join(t.TempDir(), "none"), Package{Path: ".", Files: []string{"a.go"}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}

func TestAnalyseStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Analyse(ctx, t.TempDir(), Package{Path: ".", Files: []string{"a.go"}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestNamesThatAreNoText(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a file system that takes any bytes")
	}
	a := analyseRoot(t, tree{"a.go": "package a", "\xff.go": "package a"})
	if a.Counts.Files != 2 || a.ParseErrors.Count != 1 || a.ParseErrors.Kept[0].File != "\uFFFD.go" {
		t.Errorf("got %+v", a)
	}
}

func TestAnalysisIsBounded(t *testing.T) {
	var src strings.Builder
	src.WriteString("package p\n")
	for i := range 1000 {
		fmt.Fprintf(&src, "// TODO %d\n\nfunc F%d() {}\n", i, i)
	}
	files := tree{"p.go": src.String()}
	for i := range maxFindings + 10 {
		files[fmt.Sprintf("broken%d.go", i)] = "package"
	}
	a := analyseRoot(t, files)
	for name, f := range map[string]Findings{
		"undocumented": a.Undocumented, "todos": a.Todos, "parse errors": a.ParseErrors,
	} {
		if len(f.Kept) != maxFindings || f.Count <= maxFindings {
			t.Errorf("%s: kept %d of %d", name, len(f.Kept), f.Count)
		}
	}
	if a.Todos.Count != 1000 || a.Undocumented.Count != 1000 || a.ParseErrors.Count != maxFindings+10 {
		t.Errorf("got %d, %d, %d", a.Todos.Count, a.Undocumented.Count, a.ParseErrors.Count)
	}
	if len(a.Longest) != maxLongest || a.Counts.Functions != 1000 {
		t.Errorf("kept %d of %d functions", len(a.Longest), a.Counts.Functions)
	}
}
