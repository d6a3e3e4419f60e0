package hindsighttest

import (
	"net/http"
	"strings"
)

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// route says who answers what. One request is answered at a time.
func (s *Server) route() {
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
}

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
