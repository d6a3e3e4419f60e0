package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/cairnrun/cairn"
)

// share is the meter of a sub-agent: it holds it to its own limit, and tells all that it uses to the meter around.
type share struct {
	around cairn.Meter // nil outside of an engine
	name   string
	limit  int64

	mu      sync.Mutex // guards the rest
	spent   int64
	refused bool
}

// Admit says whether there is something left, of the share and of all that is around.
func (s *share) Admit() error {
	s.mu.Lock()
	over := s.limit > 0 && s.spent >= s.limit
	s.refused = s.refused || over
	spent := s.spent
	s.mu.Unlock()
	if over {
		return &cairn.Failure{Code: cairn.ShareExhausted, Permanent: true,
			Message: fmt.Sprintf("%s tokens of the share of %s are spent", cairn.Tokens.Format(spent), cairn.Tokens.Format(s.limit))}
	}
	if s.around == nil {
		return nil
	}
	return s.around.Admit()
}

// Spend books a call under the name of the innermost tool that has delegated it.
func (s *share) Spend(u cairn.Usage) {
	if u.Delegate == "" {
		u.Delegate = s.name
	}
	s.mu.Lock()
	s.spent += u.Tokens()
	s.mu.Unlock()
	if s.around != nil {
		s.around.Spend(u)
	}
}

func (s *share) exhausted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

func (s *share) total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent
}

// recall takes over what earlier attempts have spent that ended orderly. What one that was killed has spent its sub-agent
// books again, from the journal.
func (s *share) recall(journal cairn.Journal, name string) error {
	if journal == nil {
		return nil
	}
	raw, ok := journal.Lookup(name)
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, &s.spent); err != nil {
		return fmt.Errorf("delegate: the journal's %s can't be read: %w", name, err)
	}
	return nil
}

// keep writes down what is spent, also when the attempt was told to stop: the next one goes on with that.
func (s *share) keep(ctx context.Context, journal cairn.Journal, name string) error {
	spent := s.total()
	if journal == nil || spent == 0 {
		return nil
	}
	if err := journal.Record(context.WithoutCancel(ctx), name, json.RawMessage(strconv.FormatInt(spent, 10))); err != nil {
		return fmt.Errorf("delegate: record %s: %w", name, err)
	}
	return nil
}
