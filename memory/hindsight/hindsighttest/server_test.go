package hindsighttest_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
)

// The tag semantics of Hindsight, the leak of its default mode included: what the client must never send.
func TestTagSemantics(t *testing.T) {
	s := hindsighttest.NewServer("1.1.0")
	post := func(path, body string) (int, string) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/default/banks/b/"+path, strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	for doc, tags := range map[string]string{"none": "[]", "a": `["a"]`, "b": `["b"]`, "ab": `["a","b"]`} {
		if code, body := post("memories", fmt.Sprintf(`{"items":[{"content":"x","document_id":%q,"tags":%s}]}`, doc, tags)); code != 200 {
			t.Fatal(code, body)
		}
	}
	for _, tt := range []struct{ filter, want string }{
		{`"tags":["a"]`, "a ab none"}, // any is the default
		{`"tags":["a"],"tags_match":"any"`, "a ab none"},
		{`"tags":["a"],"tags_match":"any_strict"`, "a ab"},
		{`"tags":["a","b"],"tags_match":"any_strict"`, "a ab b"},
		{`"tags":["a","b"],"tags_match":"all"`, "ab none"},
		{`"tags":["a","b"],"tags_match":"all_strict"`, "ab"},
		{`"tags":["a"],"tags_match":"exact"`, "a"},
		{`"tags":[],"tags_match":"exact"`, "none"},
		{`"tags":[],"tags_match":"all_strict"`, "a ab b none"},
		{`"tag_groups":[{"tags":["a"]}]`, "a ab"},
		{`"tag_groups":[{"tags":["a"]},{"tags":["b"]}]`, "ab"},
		{`"tag_groups":[{"or":[{"tags":["a"]},{"tags":["b"]}]}]`, "a ab b"},
		{`"tag_groups":[{"and":[{"tags":["a"]},{"not":{"tags":["b"]}}]}]`, "a"},
		{`"tag_groups":[{"not":{"tags":["b"],"match":"any_strict"}}]`, "a none"},
		{`"tag_groups":[]`, "a ab b none"},
		{`"tag_groups":[{"or":[]}]`, "500"},
		{`"tag_groups":[{"tags":["a"]}],"tags":[]`, "422"},
	} {
		code, body := post("memories/recall", `{"query":"x",`+tt.filter+`}`)
		got := fmt.Sprint(code)
		if code == 200 {
			var answer struct {
				Results []struct {
					Document string `json:"document_id"`
				}
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatal(err)
			}
			var docs []string
			for _, r := range answer.Results {
				docs = append(docs, r.Document)
			}
			slices.Sort(docs)
			got = strings.Join(docs, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.filter, got, tt.want)
		}
	}
	for body, want := range map[string]int{
		`{"items":[{"content":" ","document_id":"d"}],"async":true}`:                                           422,
		`{"items":[{"content":"x","document_id":"d"},{"content":"y","document_id":"d"}],"async":true}`:         400,
		`{"items":[{"content":"x","update_mode":"append"}],"async":true}`:                                      400,
		`{"items":[{"content":"x","document_id":"d"}],"async":true,"operation_id":"no"}`:                       422,
		`{"items":[{"content":"\u0000","document_id":"d"}],"async":true}`:                                      500,
		`{"items":[{"content":"x"}],"async":true,"operation_id":"00000000-0000-5000-8000-000000000001"}`:       200,
		`{"items":[{"content":"another"}],"async":true,"operation_id":"00000000-0000-5000-8000-000000000001"}`: 200,
		`{"items":[{"content":"x"}`: 422,
	} {
		if code, answer := post("memories", body); code != want {
			t.Errorf("%s: %d %s, want %d", body, code, answer, want)
		}
	}
	if code, body := post("memories/recall", `{"query":"`+strings.Repeat("ab ", 501)+`"}`); code != 400 || !strings.Contains(body, "Query too long") {
		t.Error(code, body)
	}
}
