package hindsighttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is a Hindsight in memory, an http.Handler for any number of clients. Set its fields before the first request.
type Server struct {
	// Key, if set, is what clients must send.
	Key string
	// Slow leaves operations pending until Work is called; otherwise they are done when they are taken.
	Slow bool
	// Leak makes recall return rows that don't match the filter, as issues of Hindsight tell of.
	Leak bool

	version string
	mux     *http.ServeMux

	mu      sync.Mutex // guards what follows
	banks   map[string]*bank
	ops     map[string]*op
	order   []string // operations, oldest first
	applied []Applied
	serial  int
	down    bool
}

// Applied is an effect that a document had, in the order in which they came.
type Applied struct {
	Bank, Document string
	// Operation is the id of the retain; empty for a deletion.
	Operation string
	Item      Item
}

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

type bank struct {
	docs   map[string]*doc
	models map[string]Model
}

type doc struct {
	Item
	unit    string
	created time.Time
	updated time.Time
	state   string
	reason  string
}

// NewServer makes an empty one that behaves like a version, "0.9.1" or "1.1.0".
func NewServer(version string) *Server {
	s := &Server{version: version, banks: map[string]*bank{}, ops: map[string]*op{}, mux: http.NewServeMux()}
	handle := func(pattern string, h func(r *http.Request) (int, any)) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if s.Key != "" && strings.Contains(pattern, "/v1/") && strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") != s.Key {
				write(w, 401, detail("Invalid API key"))
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			status, answer := h(r)
			write(w, status, answer)
		})
	}
	handle("GET /health", s.health)
	handle("GET /health/live", func(*http.Request) (int, any) {
		return 200, map[string]any{"status": "alive", "version": s.version, "uptime_seconds": 1.5}
	})
	handle("GET /version", s.getVersion)
	const base = "/v1/default/banks"
	handle("GET "+base, s.listBanks)
	handle("POST "+base+"/{bank}/memories", s.retain)
	handle("POST "+base+"/{bank}/memories/recall", s.recall)
	handle("GET "+base+"/{bank}/memories/list", s.listMemories)
	handle("PATCH "+base+"/{bank}/memories/{id}", s.patchMemory)
	handle("GET "+base+"/{bank}/documents/{id}", s.getDocument)
	handle("DELETE "+base+"/{bank}/documents/{id}", s.deleteDocument)
	handle("GET "+base+"/{bank}/operations", s.listOperations)
	handle("GET "+base+"/{bank}/operations/{id}", s.getOperation)
	handle("POST "+base+"/{bank}/operations/{id}/retry", s.retryOperation)
	handle("GET "+base+"/{bank}/mental-models", s.listModels)
	handle("GET "+base+"/{bank}/mental-models/{id}", s.getModel)
	handle("GET "+base+"/{bank}/tags", s.listTags)
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// SetDown makes the database unreachable or reachable.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
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

func (s *Server) bank(name string) *bank {
	b := s.banks[name]
	if b == nil {
		b = &bank{docs: map[string]*doc{}, models: map[string]Model{}}
		s.banks[name] = b
	}
	return b
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

// modern servers answer 404 for a bank that is not there, older ones an empty list.
func (s *Server) modern() bool { return !strings.HasPrefix(s.version, "0.") }

func (s *Server) health(*http.Request) (int, any) {
	if s.down {
		return 503, map[string]any{"status": "unhealthy", "database": "disconnected"}
	}
	return 200, map[string]any{"status": "healthy", "database": "connected"}
}

func (s *Server) getVersion(*http.Request) (int, any) {
	features := map[string]any{}
	for _, f := range []string{"observations", "mcp", "worker", "bank_config_api", "bank_llm_health", "file_upload_api",
		"document_export_api", "document_import_api", "audit_log", "llm_trace", "store_document_text"} {
		features[f] = true
	}
	return 200, map[string]any{"api_version": s.version, "features": features}
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

func (d *doc) row(score float64) map[string]any {
	return map[string]any{"id": d.unit, "text": d.Content, "type": "world", "context": d.Context, "document_id": d.Document,
		"metadata": d.Metadata, "tags": texts(d.Tags), "mentioned_at": d.updated.Format(time.RFC3339Nano), "scores": map[string]any{"final": score}}
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

// read decodes a body, and gives the answer to one that is no JSON.
func read(r *http.Request, in any) (string, int, any) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return "", 400, detail("unreadable body")
	}
	if err := json.Unmarshal(b, in); err != nil {
		status, answer := invalid([]any{"body"}, err.Error())
		return "", status, answer
	}
	return string(b), 0, nil
}

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

func detail(text string) any { return map[string]any{"detail": text} }

func invalid(loc []any, msg string) (int, any) {
	return 422, map[string]any{"detail": []any{map[string]any{"loc": loc, "msg": msg, "type": "value_error"}}}
}

func window(r *http.Request, otherwise int) (limit, offset int) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		limit = otherwise
	}
	offset, _ = strconv.Atoi(r.URL.Query().Get("offset")) // absent is 0
	return limit, offset
}

func cut[T any](all []T, limit, offset int) []T {
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))]
}

// list and texts are never null.
func list(items []any) []any { return append([]any{}, items...) }

func texts(items []string) []string { return append([]string{}, items...) }
