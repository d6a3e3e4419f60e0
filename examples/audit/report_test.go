package audit

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestReportOfTheShop(t *testing.T) {
	listing, analyses := analyse(t, "testdata/shop")
	golden(t, "shop.md", Markdown(Fold(listing, analyses)))
}

func TestReportOfTrouble(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a file system that takes bars and backticks")
	}
	dir := tree{
		"a/a.go":         "package a\n\nfunc A() {}\n",
		"a/broken.go":    "package a\n\nfunc | <b>`x`</b>\n",
		"b/b.go":         "package b\n\n// TODO(`a|b`): [link](http://x) <script>\x1b[31m\u202e | *x*\n",
		"odd | `n`/c.go": "package c\n\nfunc C() {}\n",
		"late/l.go":      "package late\n",
		"z/z.go":         "package z\n",
	}.write(t)
	listing, analyses := analyse(t, dir)
	listing.Dir = "trouble"
	listing = listing.Limit(4)
	listing.Unreadable = []string{"closed"}
	analyses = slices.DeleteFunc(analyses, func(a Analysis) bool { return a.Path == "late" })
	golden(t, "trouble.md", Markdown(Fold(listing, analyses)))
}

func TestReportOfNothing(t *testing.T) {
	golden(t, "nothing.md", Markdown(Fold(Listing{Dir: "empty"}, nil)))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs, go test -update writes it anew; got:\n%s", file, got)
	}
}

func TestFoldTakesAnalysesInAnyOrder(t *testing.T) {
	listing, analyses := analyse(t, "testdata/shop")
	want := Markdown(Fold(listing, analyses))
	slices.Reverse(analyses)
	if got := Markdown(Fold(listing, analyses)); !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFoldIsBounded(t *testing.T) {
	listing := Listing{Dir: "big"}
	var analyses []Analysis
	many := Findings{Count: 70}
	for range maxFindings {
		many.Kept = append(many.Kept, Finding{Kind: KindFunc, File: "f.go", Line: 1, Name: "F"})
	}
	for i := range 100 {
		path := "p" + string(rune('a'+i/10)) + string(rune('a'+i%10))
		listing.Packages = append(listing.Packages, Package{Path: path, Files: []string{"f.go"}})
		analyses = append(analyses, Analysis{Path: path, Undocumented: many, Todos: many, ParseErrors: many})
	}
	totals := Fold(listing, analyses)
	if totals.Undocumented != 7000 || totals.Todos.Count != 7000 || totals.ParseErrors.Count != 7000 {
		t.Errorf("got %d, %d, %d", totals.Undocumented, totals.Todos.Count, totals.ParseErrors.Count)
	}
	if len(totals.Todos.Kept) != maxTodosShown || len(totals.ParseErrors.Kept) != maxFilesShown || len(totals.Worst) != maxWorst {
		t.Errorf("kept %d, %d, %d", len(totals.Todos.Kept), len(totals.ParseErrors.Kept), len(totals.Worst))
	}
	shown := 0
	for _, p := range totals.Names {
		shown += len(p.Findings.Kept)
	}
	if shown != maxNamesShown {
		t.Errorf("kept %d names", shown)
	}
	report := string(Markdown(totals))
	for _, want := range []string{"and 20 more", "Other packages have 6,300 more.", "and 6,700 more"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPart(t *testing.T) {
	tests := []struct {
		n, whole int
		want     string
	}{
		{0, 0, "0"}, {0, 5, "0"}, {1, 3, "1 (33.3 %)"}, {9999, 10000, "9,999 (99.9 %)"}, {2, 2, "2 (100.0 %)"},
	}
	for _, test := range tests {
		if got := part(test.n, test.whole); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
