package rank_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cairnrun/cairn/memory/rank"
)

func TestTerms(t *testing.T) {
	tests := []struct {
		text string
		want string // terms with spaces between them
	}{
		{"", ""},
		{"the of AND what's it", ""},
		{"… !!! -- ' \" * ( )", ""},
		{"The café's résumé, naïve Ångström", "cafe resum naiv angstrom"},
		{"Straße STRASSE", "strass strass"},
		{"ＦＵＬＬ ﬁle", "full file"},
		{"deploys deployed deploying deployment", "deploi deploi deploi deploi"},
		{"don't O'Brien users’", "obrien user"},
		{"snake_case_name", "snakecasenam snake case name"},
		{"fooBar FooBar", "foobar foo bar foobar foo bar"},
		{"HTTPServer http_server httpServer HttpServer httpserver", "httpserver http server httpserver http server httpserver http server httpserver http server httpserver"},
		{"parseURLs iOS", "parseurl par url io os"},
		{"config.max_retries", "configmaxretri config max retri"},
		{"time-out", "timeout time"},
		{"pkg/retry/backoff.go", "pkgretrybackoffgo backoffgo pkg retri backoff go"},
		{"std::vector<int>", "stdvector std vector int"},
		{"go test -race --dry-run x -- y", "go test ·race race ·dryrun dryrun dry run x y"},
		{"POL-358 pol358", "pol358 pol 358 pol358"},
		{"v1.12.3 1.12.3", "1·12·3 1 12 3 1·12·3 1 12 3"},
		{"go1.26", "go1·26 go1 26"},
		{"2023-05-07 10:30", "2023·05·07 2023 05 07 10·30 10 30"},
		{"1,000 $5,000,000 1,2", "1000 5000000 1 2"},
		{"9f3c2ab17d 3f2a91cdeadbeef0123 decade", "9f3c2ab17d 3f2a91cdeadbeef0123 3f2a91c decad"},
		{"ines@example.com", "inesexamplecom examplecom ine exampl com"},
		{"备份数据", "备 备份 份 份数 数 数据 据"},
		{"用Redis缓存", "用 redi 缓 缓存 存"},
		{"データ", "デ デー ー ータ タ"},
		{"로그인", "로 로그 그 그인 인"},
		{"shipped 🚀🔥 👍🏽 🇩🇪", "ship 🚀 🔥 👍 🇩🇪"},
		{"a\x00b \xff c", "b c"},
	}
	for _, tt := range tests {
		if got := strings.Join(rank.Terms(tt.text), " "); got != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// What is looked for must be among what is indexed.
func TestQueryTermsFind(t *testing.T) {
	tests := []struct{ text, query string }{
		{"数据库备份在三点", "备份"}, {"数据库备份在三点", "备"}, {"数据库备份在三点", "数据库"},
		{"the HTTPServer of the gateway", "http_server"}, {"the HTTPServer of the gateway", "server"},
		{"call parse_money_string first", "parseMoneyString"}, {"call parse_money_string first", "money"},
		{"see internal/httpapi/server.go", "server.go"}, {"see internal/httpapi/server.go", "httpapi"},
		{"tests run with -race", "-race"}, {"tests run with -race", "race"}, {"`--steal-lease`", "steal lease"},
		{"ticket POL-358 is open", "POL-358"}, {"ticket POL-358 is open", "358"}, {"ticket POL-358 is open", "pol358"},
		{"fixed in 5.18.3", "v5.18.3"}, {"commit 3f2a91cdeadbeef0123456789", "3f2a91c"},
		{"un café", "cafe"}, {"CAFE\u0301", "café"}, {"🔥 in production", "🔥"}, {"docker run -it", "-it"},
	}
	for _, tt := range tests {
		terms, query := rank.Terms(tt.text), rank.QueryTerms(tt.query)
		for _, q := range query {
			if !slices.Contains(terms, q) {
				t.Errorf("%q: %q of %q is not among %q", tt.text, q, query, terms)
			}
		}
		if len(query) == 0 {
			t.Errorf("%q has no terms", tt.query)
		}
	}
	for _, nothing := range []string{"", " ", "what is it that they had", "?!", "\"\"", "NOT AND OR", "***", "\x00\xff", "-"} {
		if got := rank.QueryTerms(nothing); len(got) != 0 {
			t.Errorf("%q has the terms %q", nothing, got)
		}
	}
	if got := rank.QueryTerms("retry the Retry of retries"); len(got) != 1 {
		t.Errorf("terms twice: %q", got)
	}
}

func FuzzTerms(f *testing.F) {
	for _, seed := range []string{"", "POL-358 NEAR(a b) * \"x\" col:y", "HTTPServer parseURLs v1.2.3 -race 1,000", "数据库备份 データ 로그인 ภาษาไทย", "👍🏽🇩🇪⭐",
		"İstanbul ǅ ß ﬃ ½ ² ㎞ ①", "e\u0301\u0301 \u200d \ufe0f", "a·b ··x ·", "O'Brien’s 'x' don't", "550e8400-e29b-41d4-a716-446655440000", strings.Repeat("x", 200), "\xff\x00\xc3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := rank.Terms(text)
		for _, term := range terms {
			if term == "" || !utf8.ValidString(term) || utf8.RuneCountInString(term) > rank.MaxTerm {
				t.Fatalf("%q has the term %q", text, term)
			}
			for _, r := range term {
				if r < 0x80 && !('a' <= r && r <= 'z' || '0' <= r && r <= '9') || unicode.IsSpace(r) || unicode.IsControl(r) {
					t.Fatalf("%q: the term %q has %q in it", text, term, r)
				}
			}
			if again := rank.Terms(term); !slices.Contains(again, term) {
				t.Fatalf("%q: of the term %q the terms are %q", text, term, again)
			}
		}
		again := rank.Terms(strings.Join(terms, " "))
		if !slices.Equal(set(terms), set(again)) {
			t.Fatalf("%q: terms %q, and of those %q", text, set(terms), set(again))
		}
		for _, q := range rank.QueryTerms(text) {
			if !slices.Contains(terms, q) {
				t.Fatalf("%q: the query has %q, the index %q", text, q, terms)
			}
		}
	})
}

func set(terms []string) []string {
	terms = slices.Clone(terms)
	slices.Sort(terms)
	return slices.Compact(terms)
}

func TestStem(t *testing.T) {
	for _, same := range [][]string{
		{"deploy", "deploys", "deployed", "deploying"}, {"retry", "retries", "retried"}, {"use", "uses", "used", "using"}, {"add", "adds", "added", "adding"}, {"die", "dies", "died"}, {"connect", "connected", "connection", "connections"},
		{"migrate", "migrated", "migration", "migrating"}, {"query", "queries"}, {"index", "indexing", "indexed"},
		{"time", "times", "timing"}, {"run", "running", "runs"}, {"hope", "hoping"}, {"paint", "painting", "painted"},
	} {
		for _, w := range same {
			if rank.Stem(w) != rank.Stem(same[0]) {
				t.Errorf("%s is %s, %s is %s", w, rank.Stem(w), same[0], rank.Stem(same[0]))
			}
		}
	}
	for _, w := range []string{"a", "is", "café", "x86", "", strings.Repeat("a", 30)} {
		if rank.Stem(w) != w {
			t.Errorf("%s is %s", w, rank.Stem(w))
		}
	}
}
