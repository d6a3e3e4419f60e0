package memory

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Query asks one bank.
type Query struct {
	Bank string
	// Text is in words; without any that mean something nothing is found.
	Text string
	// Filter is what the items' tags have to pass, before anything is ranked.
	Filter Filter
	Budget Budget
	// Limit is the most rows; 0 is as many as the budget looks at.
	Limit int
}

// Row is a recalled item.
type Row struct {
	// ID is the item's in its backend; Lane says what it is: note, digest, fact or message.
	ID, Lane string
	// Item is the local store's that the row is of. Zero if it has none, or that is not known.
	Item Ref
	Text string
	// Score orders the rows of one answer; it can't be compared with another's.
	Score float64
	Tags  []string
	Time  time.Time
}

// Found is a bank's answer, best row first.
type Found struct {
	Rows []Row
	// Arms are the ways of search used, Candidates how many items they brought, Dropped how many were left out and why.
	Arms       []string
	Candidates int
	Dropped    map[string]int
}

// Recaller finds what a bank holds. It is safe for concurrent use and honours the context.
type Recaller interface {
	// Recall answers a query. A bank that nobody has written to is empty, not an error.
	Recall(ctx context.Context, q Query) (Found, error)
	// Primers returns those of the ids that the bank has; missing ones are left out. The filter is for what tasks have
	// written, which is for those that recall it; what a person has pinned is a primer for all readers of the bank.
	Primers(ctx context.Context, bank string, ids []string, filter Filter) (map[string]Primer, error)
}

// Saved is something to keep in a bank.
type Saved struct {
	// ID names the operation: keeping the same thing again does nothing.
	ID     string
	Bank   string
	Tags   []string
	Text   string
	Digest bool // an episode, what a task has come to; else a lesson
	Origin Origin
	// Workflow is whose namespace the item is in.
	Workflow string
	Time     time.Time
}

// Operation is what keeping it does to a store. now is a digest's time, if it has none; a lesson is the same one whoever
// of its workflow learns it again, unless it is given another time. That of another workflow is another, also for a remote
// backend: one can be forgotten without the other.
func (s Saved) Operation(now time.Time) Operation {
	if s.Digest && s.Time.IsZero() {
		s.Time = now
	}
	place := Place{Namespace: Namespace{Kind: WorkflowKind, ID: s.Workflow}, Bank: s.Bank, Tags: s.Tags}
	if s.Digest {
		return Operation{Digests: []Digest{{Place: place, ID: keptPrefix + hashOf(s.ID), Text: s.Text, Time: s.Time, Origin: s.Origin}}}
	}
	id := keptPrefix + hashOf(fmt.Sprintf("%q %q %q %q %d", s.Workflow, s.Bank, s.Tags, s.Text, s.Time.UnixMilli()))
	return Operation{Notes: []Note{{Place: place, ID: id, Body: s.Text, Time: s.Time, Origin: s.Origin, Status: Accepted}}}
}

// keptPrefix begins the ids of what is kept.
const keptPrefix = "kept-"

// Kept says whether a note's id is one that Saved.Operation gives: a digest, or what an agent has remembered.
func Kept(id string) bool { return strings.HasPrefix(id, keptPrefix) }

// Keeper keeps things in banks. It is safe for concurrent use.
type Keeper interface {
	// Keep stores an item, once per ID.
	Keep(ctx context.Context, s Saved) error
}
