package hindsighttest

import (
	"net/http"
	"slices"
	"strings"
)

func (s *Server) listTags(r *http.Request) (int, any) {
	b := s.banks[r.PathValue("bank")]
	if b == nil {
		return s.missing(r, map[string]any{"items": []any{}, "total": 0, "limit": 100, "offset": 0})
	}
	counts := map[string]int{}
	prefix, wild := strings.CutSuffix(r.URL.Query().Get("q"), "*")
	for _, d := range b.docs {
		for _, t := range d.Tags {
			if prefix == "" || wild && strings.HasPrefix(t, prefix) || t == prefix {
				counts[t]++
			}
		}
	}
	var names []string
	for t := range counts {
		names = append(names, t)
	}
	slices.Sort(names)
	var items []any
	for _, t := range names {
		items = append(items, map[string]any{"tag": t, "count": counts[t]})
	}
	return 200, map[string]any{"items": list(items), "total": len(items), "limit": 1000, "offset": 0}
}
