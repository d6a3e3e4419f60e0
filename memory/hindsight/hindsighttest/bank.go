package hindsighttest

import (
	"net/http"
	"slices"
	"strings"
)

type bank struct {
	docs   map[string]*doc
	models map[string]Model
}

func (s *Server) bank(name string) *bank {
	b := s.banks[name]
	if b == nil {
		b = &bank{docs: map[string]*doc{}, models: map[string]Model{}}
		s.banks[name] = b
	}
	return b
}

func (b *bank) sorted() []*doc {
	var out []*doc
	for _, d := range b.docs {
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y *doc) int { return strings.Compare(x.unit, y.unit) })
	return out
}

// missing is how a version answers for a bank that is not there.
func (s *Server) missing(r *http.Request, empty map[string]any) (int, any) {
	if s.modern() {
		return 404, detail("Bank '" + r.PathValue("bank") + "' not found")
	}
	return 200, empty
}

func (s *Server) listBanks(r *http.Request) (int, any) {
	var names []string
	for name := range s.banks {
		names = append(names, name)
	}
	slices.Sort(names)
	limit, offset := window(r, 100)
	var items []any
	for _, name := range cut(names, limit, offset) {
		items = append(items, map[string]any{"bank_id": name, "name": name, "fact_count": len(s.banks[name].docs),
			"disposition": map[string]any{"skepticism": 3, "literalism": 3, "empathy": 3}})
	}
	return 200, map[string]any{"banks": list(items), "total": len(names), "limit": limit, "offset": offset}
}
