package hindsighttest

import (
	"net/http"
	"slices"
	"time"
)

type op struct {
	id, bank, state, reason string
	item                    Item
	created                 time.Time
	tries                   int
}

// Work takes one of the waiting operations, chosen by pick from 0 to n-1, and completes it, or lets it fail for a reason.
// It returns false if none waits.
func (s *Server) Work(pick func(n int) int, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var waiting []*op
	for _, id := range s.order {
		if o := s.ops[id]; o.state == "pending" {
			waiting = append(waiting, o)
		}
	}
	if len(waiting) == 0 {
		return false
	}
	o := waiting[pick(len(waiting))]
	if reason != "" {
		o.state, o.reason = "failed", reason
		return true
	}
	s.apply(o)
	return true
}

func (s *Server) listOperations(r *http.Request) (int, any) {
	limit, offset := window(r, 20)
	if limit > 100 {
		return invalid([]any{"query", "limit"}, "Input should be less than or equal to 100")
	}
	name := r.PathValue("bank")
	if s.banks[name] == nil {
		return s.missing(r, map[string]any{"bank_id": name, "operations": []any{}, "total": 0, "limit": limit, "offset": offset})
	}
	var found []any
	for _, id := range slices.Backward(s.order) {
		o := s.ops[id]
		if want := r.URL.Query().Get("status"); o.bank != name || want != "" && o.state != want {
			continue
		}
		found = append(found, map[string]any{"id": o.id, "task_type": "batch_retain", "items_count": 1, "document_id": o.item.Document,
			"created_at": o.created.Format(time.RFC3339Nano), "status": o.state, "error_message": o.message(), "retry_count": o.tries})
	}
	return 200, map[string]any{"bank_id": name, "operations": list(cut(found, limit, offset)), "total": len(found), "limit": limit, "offset": offset}
}

func (o *op) message() any {
	if o.reason == "" {
		return nil
	}
	return o.reason
}

func (s *Server) operation(r *http.Request) *op {
	o := s.ops[r.PathValue("id")]
	if o == nil || o.bank != r.PathValue("bank") {
		return nil
	}
	return o
}

func (s *Server) getOperation(r *http.Request) (int, any) {
	o := s.operation(r)
	if o == nil {
		if !uuidForm.MatchString(r.PathValue("id")) {
			return 400, detail("Invalid operation_id format: " + r.PathValue("id"))
		}
		return 200, map[string]any{"operation_id": r.PathValue("id"), "status": "not_found"}
	}
	return 200, map[string]any{"operation_id": o.id, "status": o.state, "operation_type": "batch_retain", "error_message": o.message(),
		"created_at": o.created.Format(time.RFC3339Nano), "retry_count": o.tries}
}

func (s *Server) retryOperation(r *http.Request) (int, any) {
	o := s.operation(r)
	if o == nil {
		return 404, detail("Operation not found")
	}
	if o.state == "failed" || o.state == "cancelled" {
		o.state, o.reason = "pending", ""
		o.tries++
		if !s.Slow {
			s.apply(o)
		}
	}
	return 200, map[string]any{"success": true, "message": "queued", "operation_id": o.id}
}
