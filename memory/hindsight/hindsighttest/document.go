package hindsighttest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Item is a record as a client sends it.
type Item struct {
	Content    string            `json:"content"`
	Timestamp  *string           `json:"timestamp"`
	Context    string            `json:"context"`
	Metadata   map[string]string `json:"metadata"`
	Document   string            `json:"document_id"`
	Tags       []string          `json:"tags"`
	UpdateMode string            `json:"update_mode"`
}

type doc struct {
	Item
	unit    string
	created time.Time
	updated time.Time
	state   string
	reason  string
}

func (d *doc) row(score float64) map[string]any {
	return map[string]any{"id": d.unit, "text": d.Content, "type": "world", "context": d.Context, "document_id": d.Document,
		"metadata": d.Metadata, "tags": texts(d.Tags), "mentioned_at": d.updated.Format(time.RFC3339Nano), "scores": map[string]any{"final": score}}
}

// Applied is an effect that a document had, in the order in which they came.
type Applied struct {
	Bank, Document string
	// Operation is the id of the retain; empty for a deletion.
	Operation string
	Item      Item
}

func (s *Server) apply(o *op) {
	b := s.bank(o.bank)
	s.serial++
	now := time.Now().UTC()
	d := &doc{Item: o.item, unit: fmt.Sprintf("00000000-0000-4000-8000-%012d", s.serial), created: now, updated: now, state: "valid"}
	if old := b.docs[o.item.Document]; old != nil {
		d.created = old.created
	}
	b.docs[o.item.Document] = d
	o.state = "completed"
	s.applied = append(s.applied, Applied{Bank: o.bank, Document: o.item.Document, Operation: o.id, Item: o.item})
}

// Applied returns all effects so far.
func (s *Server) Applied() []Applied {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.applied)
}

// Content returns a document's content, by the server's names; false if it is not there.
func (s *Server) Content(bankName, document string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.banks[bankName]; b != nil {
		if d := b.docs[document]; d != nil {
			return d.Content, true
		}
	}
	return "", false
}

func (s *Server) document(r *http.Request) *doc {
	if b := s.banks[r.PathValue("bank")]; b != nil {
		return b.docs[r.PathValue("id")]
	}
	return nil
}

func (s *Server) getDocument(r *http.Request) (int, any) {
	d := s.document(r)
	if d == nil {
		return 404, detail("Document not found")
	}
	return 200, map[string]any{"id": d.Document, "bank_id": r.PathValue("bank"), "original_text": d.Content, "content_hash": "h",
		"created_at": d.created.Format(time.RFC3339Nano), "updated_at": d.updated.Format(time.RFC3339Nano),
		"memory_unit_count": 1, "tags": texts(d.Tags), "document_metadata": d.Metadata}
}

func (s *Server) deleteDocument(r *http.Request) (int, any) {
	d := s.document(r)
	if d == nil {
		return 404, detail("Document not found")
	}
	delete(s.banks[r.PathValue("bank")].docs, d.Document)
	s.applied = append(s.applied, Applied{Bank: r.PathValue("bank"), Document: d.Document})
	return 200, map[string]any{"success": true, "message": "deleted", "document_id": d.Document, "memory_units_deleted": 1}
}
