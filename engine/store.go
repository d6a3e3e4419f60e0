package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/process"
)

// Codes a Store returns. Adapters add their own for what is wrong with the file or server itself.
const (
	RunNotFound cairn.Code = "RUN_NOT_FOUND"
	RunExists   cairn.Code = "RUN_EXISTS"
	// RunEnded: the run has reached a terminal state, which is final.
	RunEnded cairn.Code = "RUN_ENDED"
	// LeaseHeld: another process drives the run.
	LeaseHeld cairn.Code = "LEASE_HELD"
	// LeaseLost: another owner has claimed the run since; nothing was written.
	LeaseLost cairn.Code = "LEASE_LOST"
	// FrameConflict: the frame does not follow the run's last one; nothing was written.
	FrameConflict cairn.Code = "FRAME_CONFLICT"
)

// known says that an error is one of the refusals above, which have written nothing.
func known(err error) bool {
	for _, code := range []cairn.Code{RunNotFound, RunExists, RunEnded, LeaseHeld, LeaseLost, FrameConflict} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// Store keeps runs. An implementation is proven by package engine/storetest. All methods are safe for concurrent use
// and by several processes; a method that returned nil has made its effect durable, one that returned an error with a
// code above has written nothing. On any other error the effect is unknown: every method may be repeated then.
type Store interface {
	Catalog
	Leases
	Frames
	Inbox
	Journal
	Outbox
	Cache
}

// Catalog tells of runs.
type Catalog interface {
	// Run returns one run: RUN_NOT_FOUND.
	Run(ctx context.Context, id string) (RunInfo, error)
	// Runs returns runs, newest first.
	Runs(ctx context.Context, q Query) ([]RunInfo, error)
}

// Leases gives runs to owners. Every claim raises the epoch, by the same owner too, and every write under a lease
// checks it: a zombie's late write is LEASE_LOST.
type Leases interface {
	// Claim leases a run that nobody holds, whose lease has run out, or whose epoch is claim.Dead: RUN_NOT_FOUND,
	// RUN_ENDED, LEASE_HELD. A run that Reopens has not ended for a claim with Reopen.
	Claim(ctx context.Context, run string, claim Claim) (Lease, error)
	// Renew extends leases to ttl from now, and returns the ids of the runs whose lease is lost.
	Renew(ctx context.Context, leases []Lease, ttl time.Duration) (lost []string, err error)
	// Release ends a lease early. Releasing a lost lease does nothing.
	Release(ctx context.Context, lease Lease) error
}

// Frames holds what happened.
type Frames interface {
	// Create stores a run with its first frame, and leases it: RUN_EXISTS.
	Create(ctx context.Context, run NewRun, first Commit, claim Claim) (Lease, error)
	// Commit appends a frame and all that belongs to it, its successor included, in one transaction: LEASE_LOST,
	// FRAME_CONFLICT, RUN_EXISTS for a successor whose id is taken. Repeating a commit that was written is success.
	Commit(ctx context.Context, lease Lease, c Commit) error
	// Frames calls fn with the encoded frames from number n on, in order, as of one moment. The bytes are fn's to keep.
	Frames(ctx context.Context, run string, n int64, fn func(n int64, body []byte) error) error
	// Import stores a whole run that no one holds, frames and journal included: RUN_EXISTS.
	Import(ctx context.Context, run NewRun, frames []Commit, entries []Entry) error
}

// Inbox takes what others have to say to a run: any process may append, the owner consumes with Commit.
type Inbox interface {
	// Append adds an item: RUN_NOT_FOUND, RUN_ENDED. An item whose Dedupe the run has seen already is not added
	// again; its first number is returned. What is for a run that was continued goes to the last of its chain.
	Append(ctx context.Context, run string, item Item) (seq int64, err error)
	// Unread returns the items not yet consumed of all runs leased by the owner, in order per run. A run that Reopens
	// keeps them until it does: what was acknowledged is not lost.
	Unread(ctx context.Context, owner string) ([]Item, error)
}

// Journal keeps what attempts record between frames.
type Journal interface {
	// Record adds or replaces an entry under the lease: LEASE_LOST.
	Record(ctx context.Context, lease Lease, e Entry) error
	// Entries returns the entries of a path, or of the whole run for "".
	Entries(ctx context.Context, run, path string) ([]Entry, error)
}

// Outbox holds the effects of committed frames until they are delivered.
type Outbox interface {
	// Due returns up to limit effects whose time has come and hides them from other callers until then+hold.
	Due(ctx context.Context, hold time.Duration, limit int) ([]Delivery, error)
	// Delivered removes an effect. Removing one that is gone does nothing.
	Delivered(ctx context.Context, id string) error
	// Postpone makes an effect due again later and keeps why.
	Postpone(ctx context.Context, id string, wait time.Duration, why string) error
}

// RunInfo is a run as the catalog knows it.
type RunInfo struct {
	ID       string      `json:"id"`
	Workflow string      `json:"workflow"`
	Version  string      `json:"version,omitempty"`
	Status   core.Status `json:"status"`
	// Head is the number of the last frame, Hash its hash.
	Head int64  `json:"head"`
	Hash string `json:"hash"`
	// Epoch counts claims. Owner is who holds the lease, zero if nobody does.
	Epoch   int64     `json:"epoch"`
	Owner   Owner     `json:"owner,omitzero"`
	Until   time.Time `json:"leaseUntil,omitzero"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Result is set for finished runs, Failure for failed, cancelled and blocked ones.
	Result  json.RawMessage `json:"result,omitempty"`
	Failure *cairn.Failure  `json:"failure,omitempty"`
	// Generation counts the runs of a chain, from 1. Parent is the run before, Successor the one that goes on from a
	// continued run; "" is none.
	Generation int    `json:"generation,omitempty"`
	Parent     string `json:"parent,omitempty"`
	Successor  string `json:"successor,omitempty"`
}

// Reopens says that the run has failed in a way that it can go on from: because of a budget, whose limit may be raised.
func (i RunInfo) Reopens() bool {
	return i.Status == core.Failed && i.Failure != nil && i.Failure.Code == cairn.BudgetExceeded
}

// Query selects runs; the zero Query selects the newest 100.
type Query struct {
	Workflow string
	Status   core.Status
	// Limit is the most runs returned; 0 is 100.
	Limit int
}

// NewRun is what a run is created with.
type NewRun struct {
	ID, Workflow, Version string
	Created               time.Time
	// Generation and Parent are the catalog's. Successor is for Import alone: a commit names the successor it makes.
	Generation        int
	Parent, Successor string
}

// Owner is a process that drives runs.
type Owner struct {
	// Token is unique per engine instance.
	Token string `json:"token,omitempty"`
	// Host, PID and Started identify the process, so that another on the same host can tell that it is dead.
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Started string `json:"started,omitempty"`
}

// Dead says that the owner's process has ended, as far as this host can know: it never guesses.
func (o Owner) Dead() bool {
	return process.Dead(process.ID{Host: o.Host, PID: o.PID, Started: o.Started})
}

// Claim asks for a lease.
type Claim struct {
	Owner Owner
	TTL   time.Duration
	// Reopen lets a failed run be claimed, too, if it Reopens.
	Reopen bool
	// Dead, when not 0, is the epoch of a lease whose process is known to be dead: it need not have run out.
	Dead int64
}

// Lease is the right to write to a run until a moment, or until somebody else claims it.
type Lease struct {
	Run   string
	Epoch int64
	Owner string
	Until time.Time
}

// Commit is a frame with everything that becomes durable with it.
type Commit struct {
	N    int64
	Body []byte
	Hash string
	// Prev is the hash of the frame before.
	Prev   string
	Status core.Status
	// Result and Failure go to the catalog.
	Result  json.RawMessage
	Failure *cairn.Failure
	// Consumed is the number of the last inbox item the frame took; 0 for none.
	Consumed int64
	Effects  []Delivery
	// Cache is what the frame's results do to the cache.
	Cache []CacheWrite
	// TTL extends the lease from now; 0 leaves it.
	TTL time.Duration
	// Successor is the run that goes on from one that the commit ends as continued: both are written, or nothing.
	Successor *Successor
}

// Successor is a run that comes into being with the end of another. Its lease is epoch 1 of the claim's owner, as Create
// would have given it, and none where its first frame ends it. It gets the other's unread inbox items under their
// numbers, goes on counting from there, and has seen the same dedupe keys.
type Successor struct {
	Run NewRun
	// First is the first frame; it has no Consumed, and no Successor itself.
	First Commit
	Claim Claim
}

// Item is something for a run's inbox.
type Item struct {
	Run string
	// Seq is the item's number in the run's inbox, from 1.
	Seq int64
	// Dedupe, when set, makes appending the same item again do nothing, for the life of the run.
	Dedupe string
	Event  core.Event
}

// Entry is a record in a task's journal.
type Entry struct {
	Path string `json:"path"`
	// Name is the sub-step's; the last heartbeat has the name "".
	Name    string          `json:"name"`
	Attempt int             `json:"attempt"`
	Value   json.RawMessage `json:"value"`
}

// Delivery is an effect on its way.
type Delivery struct {
	// ID is the operation id: the same however often it is delivered.
	ID     string
	Run    string
	Path   string
	Effect cairn.Effect
	// Tries counts failed deliveries, Why is what the last one said.
	Tries int
	Why   string
}
