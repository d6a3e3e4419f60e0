package memory

import (
	"time"

	"github.com/cairnrun/cairn"
)

// Scope is what a search may see. All of its conditions hold at once, before anything is ranked.
type Scope struct {
	// Bank and Namespace: at least one is required, else MEMORY_UNSCOPED.
	Bank      string
	Namespace Namespace
	// Tags are groups: an item has at least one tag of each. An empty group is fulfilled by nothing.
	Tags [][]string
	// Lanes defaults to facts, messages and notes.
	Lanes []Lane
	// Types limits notes. Defaults to all; items of other lanes are then not limited.
	Types []Type
	// Statuses limits notes. Empty is what counts: accepted, not superseded, valid now. Otherwise notes of these statuses
	// are seen, superseded or not valid as they may be.
	Statuses []Status
	// Pinned asks for pinned notes alone.
	Pinned bool
	// Run and Path, if set, ask for what came from there.
	Run, Path string
	// Since and Before bound an item's time: Since is in, Before is not. Zero is open.
	Since, Before time.Time
}

// Check says what is wrong with the scope.
func (s Scope) Check() error {
	if s.Bank == "" && s.Namespace == (Namespace{}) {
		return &cairn.Error{Code: Unscoped, Message: "neither a bank nor a namespace is named", Next: "name one"}
	}
	if s.Bank != "" {
		if err := CheckName("a bank", s.Bank); err != nil {
			return err
		}
	}
	if s.Namespace != (Namespace{}) {
		if err := s.Namespace.Check(); err != nil {
			return err
		}
	}
	for _, status := range s.Statuses {
		if err := status.Check(); err != nil {
			return err
		}
	}
	return nil
}
