package crashtest_test

import (
	"context"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/storetest"
)

// oneMethod sends the calls of one method through a faulty store. Which call of all is the n-th depends on the
// scheduler; which call of a method hardly does, so that counting by method leaves no call out.
type oneMethod struct {
	engine.Store
	faulty *storetest.FaultyStore
	method string
}

// methods are those an engine calls.
var methods = []string{"Run", "Create", "Claim", "Renew", "Release", "Commit", "Frames", "Append", "Unread", "Record", "Entries", "Due", "Delivered", "Postpone"}

func (o *oneMethod) of(method string) engine.Store {
	if method == o.method {
		return o.faulty
	}
	return o.Store
}

func (o *oneMethod) Run(ctx context.Context, id string) (engine.RunInfo, error) {
	return o.of("Run").Run(ctx, id)
}

func (o *oneMethod) Create(ctx context.Context, run engine.NewRun, first engine.Commit, claim engine.Claim) (engine.Lease, error) {
	return o.of("Create").Create(ctx, run, first, claim)
}

func (o *oneMethod) Claim(ctx context.Context, run string, claim engine.Claim) (engine.Lease, error) {
	return o.of("Claim").Claim(ctx, run, claim)
}

func (o *oneMethod) Renew(ctx context.Context, leases []engine.Lease, ttl time.Duration) ([]string, error) {
	return o.of("Renew").Renew(ctx, leases, ttl)
}

func (o *oneMethod) Release(ctx context.Context, lease engine.Lease) error {
	return o.of("Release").Release(ctx, lease)
}

func (o *oneMethod) Commit(ctx context.Context, lease engine.Lease, c engine.Commit) error {
	return o.of("Commit").Commit(ctx, lease, c)
}

func (o *oneMethod) Frames(ctx context.Context, run string, n int64, fn func(n int64, body []byte) error) error {
	return o.of("Frames").Frames(ctx, run, n, fn)
}

func (o *oneMethod) Append(ctx context.Context, run string, item engine.Item) (int64, error) {
	return o.of("Append").Append(ctx, run, item)
}

func (o *oneMethod) Unread(ctx context.Context, owner string) ([]engine.Item, error) {
	return o.of("Unread").Unread(ctx, owner)
}

func (o *oneMethod) Record(ctx context.Context, lease engine.Lease, e engine.Entry) error {
	return o.of("Record").Record(ctx, lease, e)
}

func (o *oneMethod) Entries(ctx context.Context, run, path string) ([]engine.Entry, error) {
	return o.of("Entries").Entries(ctx, run, path)
}

func (o *oneMethod) Due(ctx context.Context, hold time.Duration, limit int) ([]engine.Delivery, error) {
	return o.of("Due").Due(ctx, hold, limit)
}

func (o *oneMethod) Delivered(ctx context.Context, id string) error {
	return o.of("Delivered").Delivered(ctx, id)
}

func (o *oneMethod) Postpone(ctx context.Context, id string, wait time.Duration, why string) error {
	return o.of("Postpone").Postpone(ctx, id, wait, why)
}
