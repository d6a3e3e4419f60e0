package hindsighttest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func (s *Server) retain(r *http.Request) (int, any) {
	var in struct {
		Items     []Item  `json:"items"`
		Async     bool    `json:"async"`
		Operation *string `json:"operation_id"`
	}
	body, status, answer := read(r, &in)
	if status != 0 {
		return status, answer
	}
	seen := map[string]bool{}
	for i, item := range in.Items {
		if strings.TrimSpace(item.Content) == "" {
			return invalid([]any{"body", "items", i, "content"}, "Value error, content cannot be empty")
		}
		if item.UpdateMode == "append" && item.Document == "" {
			return 400, detail("update_mode='append' requires a document_id")
		}
		if in.Async && item.Document != "" && seen[item.Document] {
			return 400, detail("Batch contains duplicate document_ids: ['" + item.Document + "'].")
		}
		seen[item.Document] = true
	}
	if strings.Contains(body, `\u0000`) {
		return 500, detail(`unsupported Unicode escape sequence`)
	}
	name := r.PathValue("bank")
	s.bank(name)
	if !in.Async {
		for _, item := range in.Items {
			s.apply(&op{bank: name, item: item})
		}
		return 200, map[string]any{"success": true, "bank_id": name, "items_count": len(in.Items), "async": false}
	}
	s.serial++
	id := fmt.Sprintf("00000000-0000-4000-9000-%012d", s.serial)
	if in.Operation != nil {
		if id = *in.Operation; !uuidForm.MatchString(id) {
			return invalid([]any{"body", "operation_id"}, "Value error, operation_id must be a valid UUID")
		}
	}
	taken := map[string]any{"success": true, "bank_id": name, "items_count": len(in.Items), "async": true, "operation_id": id}
	if o := s.ops[id]; o != nil {
		if o.bank != name {
			return 409, detail("operation_id " + id + " is already in use")
		}
		return 200, taken
	}
	for _, item := range in.Items {
		o := &op{id: id, bank: name, state: "pending", item: item, created: time.Now().UTC()}
		s.ops[id] = o
		s.order = append(s.order, id)
		if !s.Slow {
			s.apply(o)
		}
	}
	return 200, taken
}
