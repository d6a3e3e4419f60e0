package hindsight

import (
	"context"
	"time"
)

// Op is what an Item does to its document.
type Op string

// The kinds of change.
const (
	// Retain replaces the document. It is made if it is not there.
	Retain Op = "retain"
	// Delete removes it. It need not be there.
	Delete Op = "delete"
)

// Item is one change of one document that the server has not confirmed yet.
type Item struct {
	// OperationID identifies the change, for ever. Repeating it has no further effect.
	OperationID string
	// Bank is the configured name, Document the id within it; together they are what Version counts.
	Bank, Document string
	// Version orders the changes of a document, higher is newer.
	Version int64
	Op      Op
	// Content, Context, Tags, Metadata and Time are a Record's. Unused for Delete. The projector adds VersionKey.
	Content, Context string
	Tags             []string
	Metadata         map[string]string
	Time             time.Time

	// Attempts is how often it has failed so far.
	Attempts int
	// Claim tells this handing out from earlier and later ones of the same item.
	Claim int64
	// Until is when the claim ends and the item may be handed to another. Zero: never.
	Until time.Time
}

// VersionKey is the metadata key that carries an Item's version to the server, in decimal.
const VersionKey = "cairn_version"

// Queue holds the changes on their way, durably. Several projectors, in several processes, may drain one queue; it
// is the queue that keeps them apart. Package hindsighttest has a suite that every implementation must pass.
//
// The fence: of a document (bank and id) at most one item is claimed at a time, and always the lowest version that is
// neither done nor dead. Once a version is, no version at or below it is ever handed out again, also when it is queued
// afterwards. A queue may drop an unclaimed version that a newer one replaces.
//
// A verdict (Done, Later, Fail, Dead) ends the claim that it names. If that claim has ended already, by a verdict or by
// its time, it changes nothing and returns nil: whoever holds the item now decides.
type Queue interface {
	// Due claims up to limit items whose time has come, oldest first.
	Due(ctx context.Context, limit int) ([]Item, error)
	// Done: the change has its effect.
	Done(ctx context.Context, item Item) error
	// Later: nothing failed, it is not known yet. The item is due again at that time, with as many attempts as before.
	Later(ctx context.Context, item Item, at time.Time) error
	// Fail counts an attempt, keeps why, and makes the item due again at that time.
	Fail(ctx context.Context, item Item, cause error, at time.Time) error
	// Dead sets the item aside with the reason, for a person to retry or drop. It does not hold up newer versions.
	Dead(ctx context.Context, item Item, cause error) error
}
