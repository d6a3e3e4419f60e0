package hindsighttest

import (
	"net/http"
	"strings"
)

func (s *Server) listMemories(r *http.Request) (int, any) {
	limit, offset := window(r, 100)
	b := s.banks[r.PathValue("bank")]
	if b == nil {
		return s.missing(r, map[string]any{"items": []any{}, "total": 0, "limit": limit, "offset": offset})
	}
	q := r.URL.Query()
	state := q.Get("state")
	g := group{leaf: true, tags: q["tags"], match: q.Get("tags_match")}
	if g.match == "" {
		g.match = "any"
	}
	var found []any
	for _, d := range b.sorted() {
		if state != "" && d.state != state || q.Get("document_id") != "" && d.Document != q.Get("document_id") ||
			!strings.Contains(d.Content, q.Get("q")) || !g.matches(d.Tags) {
			continue
		}
		found = append(found, map[string]any{"id": d.unit, "text": d.Content, "context": d.Context, "fact_type": "world",
			"document_id": d.Document, "tags": texts(d.Tags), "state": d.state, "invalidation_reason": d.reason})
	}
	return 200, map[string]any{"items": list(cut(found, limit, offset)), "total": len(found), "limit": limit, "offset": offset}
}

func (s *Server) patchMemory(r *http.Request) (int, any) {
	var in struct {
		State  string `json:"state"`
		Reason string `json:"reason"`
	}
	if _, status, answer := read(r, &in); status != 0 {
		return status, answer
	}
	if b := s.banks[r.PathValue("bank")]; b != nil {
		for _, d := range b.docs {
			if d.unit == r.PathValue("id") {
				d.state, d.reason = in.State, in.Reason
				return 200, map[string]any{"id": d.unit, "state": d.state}
			}
		}
	}
	return 404, detail("Memory unit '" + r.PathValue("id") + "' not found")
}
