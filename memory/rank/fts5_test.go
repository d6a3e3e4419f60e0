package rank_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/memory/rank"
	_ "modernc.org/sqlite"
)

// The same terms serve a full-text index in SQLite: joined with spaces under Tokenizer, looked up quoted and joined by OR.
func TestTermsInFTS5(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE VIRTUAL TABLE idx USING fts5(terms, tokenize = "` + rank.Tokenizer + `"); CREATE VIRTUAL TABLE vocabulary USING fts5vocab(idx, 'row')`); err != nil {
		t.Fatal(err)
	}
	texts := []string{"数据库备份在三点", "the HTTPServer of internal/httpapi/server.go", "tests run with -race and --dry-run", "POL-358: v5.18.3 of 2026-01-02", "🚀 café 🇩🇪 로그인", "NEAR AND OR NOT"}
	var all []string
	for i, text := range texts {
		terms := rank.Terms(text)
		all = append(all, terms...)
		if _, err := db.Exec(`INSERT INTO idx(rowid, terms) VALUES (?, ?)`, i, strings.Join(terms, " ")); err != nil {
			t.Fatal(err)
		}
	}
	var indexed []string
	rows, err := db.Query(`SELECT term FROM vocabulary`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var term string
		if err := rows.Scan(&term); err != nil {
			t.Fatal(err)
		}
		indexed = append(indexed, term)
	}
	if got, want := set(indexed), set(all); !slices.Equal(got, want) {
		t.Errorf("the index has\n%q, the terms are\n%q", got, want)
	}
	for query, want := range map[string]int{"备份": 0, "备": 0, "http_server": 1, "server.go": 1, "-race": 2, "POL-358": 3, "2026-01-02": 3, "🚀": 4, "CAFÉ": 4, "로그": 4, "near": 5} {
		terms := rank.QueryTerms(query)
		for i, term := range terms {
			terms[i] = `"` + term + `"`
		}
		var got int
		err := db.QueryRow(`SELECT rowid FROM idx WHERE idx MATCH ? ORDER BY bm25(idx) LIMIT 1`, strings.Join(terms, " OR ")).Scan(&got)
		if err != nil || got != want {
			t.Errorf("%s finds %d (%v), want %d", query, got, err, want)
		}
	}
}
