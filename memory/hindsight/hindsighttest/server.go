package hindsighttest

import (
	"net/http"
	"strings"
	"sync"
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

// NewServer makes an empty one that behaves like a version, "0.9.1" or "1.1.0".
func NewServer(version string) *Server {
	s := &Server{version: version, banks: map[string]*bank{}, ops: map[string]*op{}, mux: http.NewServeMux()}
	s.route()
	return s
}

// SetDown makes the database unreachable or reachable.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// modern servers answer 404 for a bank that is not there, older ones an empty list.
func (s *Server) modern() bool { return !strings.HasPrefix(s.version, "0.") }
