package hindsighttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

func (s *Server) recall(r *http.Request) (int, any) {
	in := struct {
		Query   string             `json:"query"`
		Types   []string           `json:"types"`
		Tags    *[]string          `json:"tags"`
		Match   string             `json:"tags_match"`
		Groups  *[]json.RawMessage `json:"tag_groups"`
		Include struct {
			Sources *struct{} `json:"source_facts"`
		} `json:"include"`
	}{Match: "any"}
	body, status, answer := read(r, &in)
	if status != 0 {
		return status, answer
	}
	switch {
	case !word.MatchString(in.Query):
		return invalid([]any{"body", "query"}, "Value error, query must contain at least one word character after normalization")
	case in.Tags != nil && in.Groups != nil:
		return invalid([]any{"body"}, "Value error, 'tags' and 'tag_groups' are mutually exclusive. Use 'tag_groups' for compound filtering.")
	case strings.Contains(body, `\u0000`) || strings.Contains(body, `\ud8`):
		return 500, detail("Failed to search memories")
	}
	name := r.PathValue("bank")
	b := s.banks[name]
	if b == nil && s.modern() {
		return 404, detail("Bank '" + name + "' not found")
	}
	if tokens := tokensOf(in.Query); tokens > 500 {
		return 400, detail(fmt.Sprintf("Query too long: %d tokens exceeds maximum of 500. Please shorten your query.", tokens))
	}
	var groups []group
	if in.Tags != nil {
		groups = append(groups, group{leaf: true, tags: *in.Tags, match: in.Match})
	}
	if in.Groups != nil {
		for _, raw := range *in.Groups {
			g, err := parseGroup(raw)
			if err != nil {
				return 500, detail("Failed to search memories (PostgresSyntaxError): " + err.Error())
			}
			groups = append(groups, g)
		}
	}
	results, sources := []any{}, map[string]any{}
	if b != nil {
		for _, d := range b.sorted() {
			if d.state != "valid" || !shares(d.Content, in.Query) {
				continue
			}
			show := true
			for _, g := range groups {
				show = show && g.matches(d.Tags)
			}
			if show || s.Leak {
				results = append(results, d.row(0.5))
				sources[d.unit] = d.row(0.5)
			}
		}
	}
	out := map[string]any{"results": results}
	if in.Include.Sources != nil {
		out["source_facts"] = sources
	}
	if s.modern() {
		for _, k := range []string{"trace", "entities", "chunks", "source_facts", "source_facts_truncated"} {
			if _, there := out[k]; !there {
				out[k] = nil
			}
		}
	}
	return 200, out
}

var (
	word  = regexp.MustCompile(`[\p{L}\p{N}_]`)
	words = regexp.MustCompile(`[\p{L}\p{N}_]+`)
)

// tokensOf is a tokenizer's worst: three bytes of a word, or one of anything else, are a token.
func tokensOf(s string) int {
	n := 0
	for _, w := range words.FindAllString(s, -1) {
		n += (len(w) + 2) / 3
	}
	return n + len(strings.Join(strings.Fields(words.ReplaceAllString(s, "")), ""))
}

func shares(text, query string) bool {
	have := words.FindAllString(strings.ToLower(text), -1)
	for _, w := range words.FindAllString(strings.ToLower(query), -1) {
		if slices.Contains(have, w) {
			return true
		}
	}
	return false
}
