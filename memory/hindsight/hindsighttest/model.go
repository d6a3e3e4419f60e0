package hindsighttest

import (
	"net/http"
	"slices"
)

// Model is a mental model to be put into the server.
type Model struct {
	ID, Name, Question, Content string
	Tags                        []string
}

// AddModel puts a mental model into a bank, which is made if it is not there. The bank's name is the server's.
func (s *Server) AddModel(name string, m Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bank(name).models[m.ID] = m
}

func (m Model) answer(bankName string) map[string]any {
	return map[string]any{"id": m.ID, "bank_id": bankName, "name": m.Name, "source_query": m.Question, "content": m.Content,
		"tags": texts(m.Tags), "is_stale": false, "last_refreshed_at": "2026-11-01T00:00:00+00:00"}
}

func (s *Server) listModels(r *http.Request) (int, any) {
	name := r.PathValue("bank")
	b := s.banks[name]
	if b == nil {
		return s.missing(r, map[string]any{"items": []any{}, "total": 0, "limit": 100, "offset": 0})
	}
	var ids []string
	for id := range b.models {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var items []any
	for _, id := range ids {
		items = append(items, b.models[id].answer(name))
	}
	return 200, map[string]any{"items": list(items), "total": len(items), "limit": 1000, "offset": 0}
}

func (s *Server) getModel(r *http.Request) (int, any) {
	name, id := r.PathValue("bank"), r.PathValue("id")
	if b := s.banks[name]; b != nil {
		if m, ok := b.models[id]; ok {
			return 200, m.answer(name)
		}
	}
	return 404, detail("Mental model '" + id + "' not found")
}
