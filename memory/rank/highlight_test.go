package rank

import (
	"strings"
	"testing"
	"time"
)

func TestHighlights(t *testing.T) {
	for _, test := range []struct{ text, query, want string }{
		{"The deploys failed, twice.", "deploy FAILING", "The «deploys» «failed», twice."},
		{"a café, (cafe)!", "cafe", "a «café», («cafe»)!"},
		{"call http_server.Start now", "server", "call http_«server».Start now"},
		{"call HTTPServer now", "httpserver", "call «HTTPServer» now"},
		{"see v1.2, not 5.3", "1.2", "see «v1.2», not 5.3"},
		{"備份資料庫每天執行", "資料庫", "備份«資料庫»每天執行"},
		{"the and of", "the and of", "the and of"},
		{"nothing here", "elsewhere", "nothing here"},
		{"a\nrunner\tand runners", "runner", "a\n«runner»\tand «runners»"},
		{"", "x", ""},
	} {
		var b strings.Builder
		last := 0
		for _, s := range Highlights(test.text, test.query) {
			b.WriteString(test.text[last:s[0]] + "«" + test.text[s[0]:s[1]] + "»")
			last = s[1]
		}
		if got := b.String() + test.text[last:]; got != test.want {
			t.Errorf("%q in %q: %q, want %q", test.query, test.text, got, test.want)
		}
	}
}

// A long text without a space takes time in proportion to its length.
func TestHighlightsOfALongText(t *testing.T) {
	for _, piece := range []string{"資料", "ab", "a_b", "x.y-z/"} {
		began := time.Now()
		Highlights(strings.Repeat(piece, 100_000), "資料 ab x.y elsewhere")
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s takes %s", piece, took)
		}
	}
}

func FuzzHighlights(f *testing.F) {
	f.Add("http_server of 資料庫 café", "server 資料庫 cafe")
	f.Add("\xff a\u0301 b", "\x00a")
	f.Fuzz(func(t *testing.T, text, query string) {
		last := -1
		for _, s := range Highlights(text, query) {
			if s[0] <= last || s[1] <= s[0] || s[1] > len(text) {
				t.Fatalf("%q in %q: %v after %d", query, text, s, last)
			}
			last = s[1]
		}
	})
}
