package hindsight_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory/hindsight"
	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
)

func TestFromEnv(t *testing.T) {
	t.Setenv("HINDSIGHT_URL", "")
	t.Setenv("HINDSIGHT_API_KEY", "k")
	t.Setenv("HINDSIGHT_BANK_PREFIX", "dev-")
	if _, ok := hindsight.FromEnv(); ok {
		t.Error("configured without HINDSIGHT_URL")
	}
	t.Setenv("HINDSIGHT_URL", " http://127.0.0.1:8888 ")
	c, ok := hindsight.FromEnv()
	if !ok || c.URL != "http://127.0.0.1:8888" || c.APIKey != "k" || c.BankPrefix != "dev-" {
		t.Errorf("%+v, %v", c, ok)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []hindsight.Config{
		{}, {URL: "127.0.0.1:8888"}, {URL: "ftp://x"}, {URL: "http://"}, {URL: "http://me:hush@x"}, {URL: "http://x/?key=hush"},
		{URL: "http://x", APIKey: "hush\nX-Other: 1"}, {URL: "http://x", BankPrefix: "a/b"}, {URL: "http://hush\x7f"},
	} {
		_, err := hindsight.New(c)
		if !errors.Is(err, hindsight.Invalid) || strings.Contains(err.Error(), "hush") || hindsight.Retryable(err) {
			t.Errorf("%q: %v", c.URL, err)
		}
	}
}

// handler answers each request by a function and keeps what it saw.
type handler struct {
	answer func(w http.ResponseWriter, r *http.Request)
	bodies []string
	paths  []string
	header http.Header
}

func (h *handler) client(t *testing.T, config hindsight.Config) *hindsight.Client {
	t.Helper()
	config.URL = "http://hindsight.test/base/"
	config.HTTP = &http.Client{Transport: &network{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil {
			b, _ := io.ReadAll(r.Body)
			h.bodies = append(h.bodies, string(b))
		}
		h.paths = append(h.paths, r.Method+" "+r.URL.RequestURI())
		h.header = r.Header
		h.answer(w, r)
	})}}
	return newClient(t, config)
}

func says(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// The bytes of each kind of write are pinned: the same record is the same request, whatever order its maps have.
func TestRequestBytes(t *testing.T) {
	h := &handler{answer: says(200, `{"success":true,"results":[]}`)}
	c := h.client(t, hindsight.Config{APIKey: "k", BankPrefix: "dev-"})
	for range 20 {
		if _, err := c.Retain(t.Context(), "user-1", hindsight.Record{Operation: "run/1", Document: "a/b", Content: "<x> & \x00\xff é", Context: "digest",
			Tags: []string{"b", "a", "b"}, Metadata: map[string]string{"z": "1", "a": "2\x00"}, Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600))}); err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Compact(h.bodies); len(got) != 1 || got[0] != `{"items":[{"content":"<x> &  é","timestamp":"2026-01-02T02:04:05.0000006Z","context":"digest","metadata":{"a":"2","z":"1"},"document_id":"a~2Fb","tags":["b","a"],"update_mode":"replace"}],"async":true,"operation_id":"7fc199a4-86a2-513d-9757-b16750d4fbea"}` {
		t.Errorf("%q", got)
	}
	if h.paths[0] != "POST /base/v1/default/banks/dev-user-1/memories" || h.header.Get("Authorization") != "Bearer k" {
		t.Errorf("%s %v", h.paths[0], h.header)
	}
	h.bodies = nil
	for _, q := range []hindsight.Query{
		{Text: "x"},
		{Text: "x", Filter: [][]string{{"scope:main", "branch:x"}, {"stream:s"}, {"team:a", "team:a"}}, Budget: "high", MaxTokens: 7, Types: []string{"world"}, Sources: true},
	} {
		if _, err := c.Recall(t.Context(), "user-1", q); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`{"query":"x","include":{"entities":null}}`,
		`{"query":"x","types":["world"],"budget":"high","max_tokens":7,"include":{"entities":null,"source_facts":{}},"tag_groups":[{"tags":["scope:main","branch:x"],"match":"any_strict"},{"tags":["stream:s"],"match":"any_strict"},{"tags":["team:a"],"match":"any_strict"}]}`}
	if !slices.Equal(h.bodies, want) {
		t.Errorf("%s", strings.Join(h.bodies, "\n"))
	}
}

func TestOperationID(t *testing.T) {
	plain, dev := newClient(t, hindsight.Config{URL: "http://x"}), newClient(t, hindsight.Config{URL: "http://x", BankPrefix: "dev-"})
	seen := map[string]bool{}
	for _, id := range []string{plain.OperationID("a", "bc"), plain.OperationID("ab", "c"), plain.OperationID("a", "b"), dev.OperationID("a", "b")} {
		if seen[id] || len(id) != 36 || id[14] != '5' || !strings.ContainsRune("89ab", rune(id[19])) {
			t.Errorf("%s", id)
		}
		seen[id] = true
	}
	if plain.OperationID("dev-a", "b") != dev.OperationID("a", "b") {
		t.Error("the id is not the server's bank's")
	}
}

// Policy is decided on the configured name: what looks like a user's bank is one, also under a prefix, and no name of the
// server comes out.
func TestBankPrefix(t *testing.T) {
	fake := hindsighttest.NewServer("1.1.0")
	c := newClient(t, hindsight.Config{URL: "http://x", BankPrefix: "dev-", HTTP: &http.Client{Transport: &network{handler: fake}}})
	other := newClient(t, hindsight.Config{URL: "http://x", HTTP: &http.Client{Transport: &network{handler: fake}}})
	if _, err := c.Retain(t.Context(), "user-1", hindsight.Record{Operation: "1", Document: "d", Content: "likes trains"}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Retain(t.Context(), "user-1", hindsight.Record{Operation: "1", Document: "d", Content: "likes boats"}); err != nil {
		t.Fatal(err)
	}
	if got, there := fake.Content("dev-user-1", "d"); !there || got != "likes trains" {
		t.Errorf("%q, %v", got, there)
	}
	got, err := c.Recall(t.Context(), "user-1", hindsight.Query{Text: "likes"})
	if err != nil || got.Bank != "user-1" || len(got.Rows) != 1 || got.Rows[0].Text != "likes trains" {
		t.Errorf("%+v, %v", got, err)
	}
	banks, err := c.Banks(t.Context())
	if err != nil || len(banks) != 1 || banks[0].Name != "user-1" || banks[0].Facts != 1 {
		t.Errorf("%+v, %v", banks, err)
	}
	up := c.Doctor(t.Context(), "user-1", "dev-user-1")
	if !slices.Equal(up.Missing, []string{"dev-user-1"}) || len(up.Problems) != 1 {
		t.Errorf("%+v", up)
	}
	if raw, _ := json.Marshal([]any{got, banks}); strings.Contains(string(raw), "dev-") {
		t.Errorf("the prefix comes out: %s", raw)
	}
}

func TestManyBanks(t *testing.T) {
	for _, paged := range []bool{true, false} {
		h := &handler{answer: func(w http.ResponseWriter, r *http.Request) {
			var offset int
			_, _ = fmt.Sscan(r.URL.Query().Get("offset"), &offset)
			var all []map[string]any
			for i := range 250 {
				all = append(all, map[string]any{"bank_id": fmt.Sprint("bank-", i)})
			}
			answer := map[string]any{"banks": all} // an old server: all of them, and no total
			if paged {
				answer = map[string]any{"banks": all[min(offset, 250):min(offset+100, 250)], "total": 250}
			}
			_ = json.NewEncoder(w).Encode(answer)
		}}
		if banks, err := h.client(t, hindsight.Config{}).Banks(t.Context()); err != nil || len(banks) != 250 {
			t.Errorf("paged %v: %d banks, %v", paged, len(banks), err)
		}
	}
}

// What the server shows too much is dropped and counted, rows and the facts behind them.
func TestLeakedRows(t *testing.T) {
	fake := hindsighttest.NewServer("1.1.0")
	fake.Leak = true
	c := newClient(t, hindsight.Config{URL: "http://x", HTTP: &http.Client{Transport: &network{handler: fake}}})
	for doc, tags := range map[string][]string{"mine": {"branch:x", "stream:s"}, "theirs": {"branch:y", "stream:s"}, "half": {"branch:x"}, "none": nil} {
		if _, err := c.Retain(t.Context(), "project-x", hindsight.Record{Operation: doc, Document: doc, Content: "a lesson", Tags: tags}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Recall(t.Context(), "project-x", hindsight.Query{Text: "lesson", Filter: [][]string{{"scope:main", "branch:x"}, {"stream:s"}}, Sources: true})
	if err != nil || len(got.Rows) != 1 || got.Rows[0].Document != "mine" || got.Dropped != 6 || len(got.Sources) != 1 || got.Sources[got.Rows[0].ID].Document != "mine" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := c.Recall(t.Context(), "project-x", hindsight.Query{Text: "lesson"}); err != nil || len(got.Rows) != 4 || got.Dropped != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, f := range [][][]string{{{}}, {{"a"}, nil}, {{"\x00"}}, {{""}}} {
		if _, err := c.Recall(t.Context(), "project-x", hindsight.Query{Text: "lesson", Filter: f}); !errors.Is(err, hindsight.Invalid) {
			t.Errorf("filter %q: %v", f, err)
		}
	}
}

func TestLongQueries(t *testing.T) {
	limit := 500
	h := &handler{}
	h.answer = func(w http.ResponseWriter, _ *http.Request) {
		var in struct{ Query string }
		if err := json.Unmarshal([]byte(h.bodies[len(h.bodies)-1]), &in); err != nil {
			t.Error(err)
		}
		if len(in.Query) > limit {
			says(400, `{"detail":"Query too long: 900 tokens exceeds maximum of 500. Please shorten your query."}`)(w, nil)
			return
		}
		if !utf8.ValidString(in.Query) || strings.ContainsRune(in.Query, utf8.RuneError) {
			t.Errorf("a rune is cut: %q", in.Query[len(in.Query)-4:])
		}
		says(200, `{"results":[{"id":"1","text":"t"}]}`)(w, nil)
	}
	c := h.client(t, hindsight.Config{})
	for _, tt := range []struct {
		text           string
		limit, sent, n int
	}{
		{strings.Repeat("a", 2000), 500, 500, 2},
		{strings.Repeat("a", 2000), 1500, 1500, 1},
		{strings.Repeat("é", 1000), 500, 500, 2},
		{"x" + strings.Repeat("é", 1000), 500, 499, 2},
		{strings.Repeat("列", 1000), 500, 498, 2},
		{strings.Repeat("列", 1000), 1500, 1500, 1},
		{strings.Repeat("!", 5000) + "word", 500, 4, 1},
	} {
		h.bodies, limit = nil, tt.limit
		got, err := c.Recall(t.Context(), "b", hindsight.Query{Text: tt.text})
		if err != nil || got.QueryBytes != tt.sent || !got.Shortened || len(h.bodies) != tt.n || len(got.Rows) != 1 {
			t.Errorf("%.8s… of %d: %d bytes in %d requests, %v", tt.text, len(tt.text), got.QueryBytes, len(h.bodies), err)
		}
	}
	h.bodies, limit = nil, 10
	if _, err := c.Recall(t.Context(), "b", hindsight.Query{Text: strings.Repeat("a", 2000)}); !errors.Is(err, hindsight.Refused) || len(h.bodies) != 2 {
		t.Errorf("%d requests, %v", len(h.bodies), err)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		status    int
		header    string
		body      string
		code      cairn.Code
		retryable bool
		after     time.Duration
		says      string
	}{
		{400, "", `{"detail":"bad"}`, hindsight.Refused, false, 0, "bad"},
		{401, "", `{"detail":"Invalid API key"}`, hindsight.Auth, false, 0, "HINDSIGHT_API_KEY"},
		{403, "", "", hindsight.Auth, false, 0, "Forbidden"},
		{409, "", `{"detail":"in use"}`, hindsight.Conflict, false, 0, "in use"},
		{422, "", `{"detail":[{"loc":["body","items",0,"content"],"msg":"empty","input":"hush"}]}`, hindsight.Refused, false, 0, "items: content: empty"},
		{408, "", "", hindsight.Unavailable, true, 0, "later"},
		{429, "7", "", hindsight.Unavailable, true, 7 * time.Second, "later"},
		{500, "", "<html>\n oops</html>", hindsight.Unavailable, true, 0, "<html> oops</html>"},
		{503, "Sat, 01 Jan 2000 00:01:00 GMT", "", hindsight.Unavailable, true, time.Minute, "pgvector"},
		{503, "-5", "", hindsight.Unavailable, true, 0, "pgvector"},
		{503, "99999999", "", hindsight.Unavailable, true, 24 * time.Hour, "pgvector"},
		{302, "", "", hindsight.Refused, false, 0, "redirect"},
		{200, "", "<html>", hindsight.Answer, true, 0, "HINDSIGHT_URL"},
		{200, "", `{"items":[` + strings.Repeat(`{},`, 400) + `{}]}`, hindsight.Answer, true, 0, "more than 1000 bytes"},
		{500, "", strings.Repeat("é", 5000), hindsight.Unavailable, true, 0, "é"},
	} {
		synctest.Test(t, func(t *testing.T) { // its clock stands at 2000-01-01
			h := &handler{answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tt.header)
				w.Header().Set("Location", "http://elsewhere.test/")
				says(tt.status, tt.body)(w, nil)
			}}
			_, err := h.client(t, hindsight.Config{APIKey: "hush", MaxAnswer: 1000}).Models(t.Context(), "b")
			if !errors.Is(err, tt.code) || hindsight.Retryable(err) != tt.retryable || !strings.Contains(err.Error(), tt.says) ||
				strings.Contains(err.Error(), "hush") || len(err.Error()) > 900 || len(h.paths) != 1 {
				t.Errorf("%d: %v", tt.status, err)
			}
			f := cairn.FailureOf(err)
			if f.Code != tt.code || f.Permanent == tt.retryable || f.RetryAfter != tt.after {
				t.Errorf("%d: as a failure %+v, want a pause of %v", tt.status, f, tt.after)
			}
			var full *cairn.Error
			if !errors.As(err, &full) || full.Next == "" {
				t.Errorf("%d: %v says not what to do", tt.status, err)
			}
		})
	}
	if hindsight.Retryable(nil) || !hindsight.Retryable(errors.New("other")) {
		t.Error("Retryable")
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, hindsight.Config{URL: "http://x", Timeout: time.Second, HTTP: &http.Client{Transport: &network{
			handler: http.NotFoundHandler(), fault: func(*http.Request) (time.Duration, time.Duration, string) { return time.Hour, 0, "" }}}})
		start := time.Now()
		err := c.Health(t.Context())
		if !errors.Is(err, hindsight.Unavailable) || !hindsight.Retryable(err) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// Names become one segment of a path, or are refused before anything is sent.
func TestNames(t *testing.T) {
	h := &handler{answer: says(200, `{}`)}
	c := h.client(t, hindsight.Config{})
	for _, bank := range []string{"", ".", "..", "a/b", "a\\b", "a\x00", "a\xff", "a\nb"} {
		_, err := c.Recall(t.Context(), bank, hindsight.Query{Text: "x"})
		_, _, err2 := c.Model(t.Context(), "b", bank)
		_, err3 := c.Invalidate(t.Context(), "b", bank, "")
		_, _, err4 := c.Operation(t.Context(), "b", bank)
		for _, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, hindsight.Invalid) {
				t.Errorf("%q: %v", bank, err)
			}
		}
	}
	if _, _, err := c.Document(t.Context(), "b", "\x00"); !errors.Is(err, hindsight.Invalid) {
		t.Error(err)
	}
	if len(h.paths) != 0 {
		t.Errorf("sent %q", h.paths)
	}
	for id, want := range map[string]string{"a b/c?d#e": "a~20b~2Fc~3Fd~23e", "é": "~C3~A9", "~41": "~7E41", "..": "~2E~2E", "a.b_c-d:e": "a.b_c-d:e"} {
		h.paths = nil
		if _, err := c.DeleteDocument(t.Context(), "ö b", id); err != nil {
			t.Fatal(err)
		}
		if got := "DELETE /base/v1/default/banks/%C3%B6%20b/documents/" + want; h.paths[0] != got {
			t.Errorf("%q: %s, want %s", id, h.paths[0], got)
		}
	}
}

// Ids of other writers are shown as they are.
func TestForeignDocuments(t *testing.T) {
	h := &handler{answer: says(200, `{"results":[{"id":"1","text":"t","document_id":"50~ off/x"},{"id":"2","text":"t","document_id":"a~2Fb"},{"id":"3","text":"t","document_id":"a~2fb"}]}`)}
	got, err := h.client(t, hindsight.Config{}).Recall(t.Context(), "b", hindsight.Query{Text: "x"})
	if err != nil || !slices.Equal(documents(got), []string{"50~ off/x", "a/b", "a~2fb"}) {
		t.Errorf("%q, %v", documents(got), err)
	}
}

func TestDoctor(t *testing.T) {
	fake := hindsighttest.NewServer("2.3.4")
	c := newClient(t, hindsight.Config{URL: "http://x", HTTP: &http.Client{Transport: &network{handler: fake}}})
	fake.Slow = true
	if _, err := c.Retain(t.Context(), "b", hindsight.Record{Operation: "1", Document: "d", Content: "c"}); err != nil {
		t.Fatal(err)
	}
	fake.Work(func(int) int { return 0 }, "no memory")
	up := c.Doctor(t.Context(), "b", "typo")
	text := fmt.Sprint(up.Problems)
	if !up.Live || !up.Healthy || len(up.Banks) != 1 || len(up.Problems) != 3 ||
		!strings.Contains(text, "2.3.4 was not tested") || !strings.Contains(text, "1 operations of bank b have failed") || !strings.Contains(text, "bank typo is not there") {
		t.Errorf("%+v", up)
	}
	fake.SetDown(true)
	up = c.Doctor(t.Context(), "b")
	if !up.Live || up.Healthy || !strings.Contains(fmt.Sprint(up.Problems), "Postgres 15 or later with the pgvector extension") {
		t.Errorf("%+v", up)
	}
	h := &handler{answer: func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/version") {
			says(200, `{"api_version":"1.1.0","features":{"worker":false}}`)(w, nil)
			return
		}
		says(200, `{"status":"healthy","banks":[]}`)(w, nil)
	}}
	if up := h.client(t, hindsight.Config{}).Doctor(t.Context()); len(up.Problems) != 1 || !strings.Contains(up.Problems[0].Error(), "runs no worker") {
		t.Errorf("%+v", up)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x00\xed\xa0\x80b")
	f.Add(strings.Repeat("§", 2000))
	f.Fuzz(func(t *testing.T, s string) {
		c := newClient(t, hindsight.Config{URL: "http://x", HTTP: &http.Client{Transport: &network{handler: hindsighttest.NewServer("0.9.1")}}})
		got, err := c.Recall(t.Context(), "b", hindsight.Query{Text: s, Filter: [][]string{{"t" + s}}})
		if err != nil || got.QueryBytes > 1500 {
			t.Errorf("recall: %+v, %v", got, err)
		}
		_, err = c.Retain(t.Context(), "b", hindsight.Record{Operation: s + "x", Document: "d", Content: s, Context: s, Tags: []string{"t" + s}, Metadata: map[string]string{s: s}})
		if err != nil && !errors.Is(err, hindsight.Invalid) {
			t.Errorf("retain: %v", err)
		}
		id := "i" + strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
		if _, err := c.Retain(t.Context(), "b", hindsight.Record{Operation: id, Document: id, Content: "x", Tags: []string{"only"}}); err != nil {
			t.Fatal(err)
		}
		list, _, err := c.Memories(t.Context(), "b", hindsight.Listing{Document: id})
		if err != nil || len(list) != 1 || list[0].Document != id {
			t.Errorf("%q comes back as %+v, %v", id, list, err)
		}
	})
}
