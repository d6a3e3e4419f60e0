package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// model is a store that is slow and obvious: slices that are searched from the start, one lock around everything. It
// exists to be compared with.
type model struct {
	mu    sync.Mutex
	clock func() time.Time
	runs  []*modelRun
	// outbox holds undelivered effects in the order of their commits.
	outbox []*modelEffect
	cache  []*modelMemo
	holds  map[string]modelHold
}

type modelRun struct {
	engine.RunInfo
	frames  []string
	items   []engine.Item // all that were ever appended, consumed or not
	base    int64         // items that an imported run had consumed elsewhere
	read    int64         // the last one consumed
	entries []engine.Entry
}

type modelEffect struct {
	engine.Delivery
	due time.Time
}

// modelMemo is a cache entry, whose bounds are the store's own affair.
type modelMemo struct{ engine.CacheEntry }

type modelHold struct {
	owner string
	until time.Time
}

var _ engine.Store = (*model)(nil)

func no(code cairn.Code, run string) error {
	return &cairn.Error{Code: code, Run: run, Message: "so says the model", Next: "look it up there"}
}

func (m *model) find(id string) (*modelRun, error) {
	for _, r := range m.runs {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, no(engine.RunNotFound, id)
}

// leased finds the run of a lease that is not lost.
func (m *model) leased(l engine.Lease) (*modelRun, error) {
	r, err := m.find(l.Run)
	if err == nil && (r.Epoch != l.Epoch || r.Owner.Token == "" || r.Owner.Token != l.Owner) {
		err = no(engine.LeaseLost, l.Run)
	}
	return r, err
}

func (m *model) Run(_ context.Context, id string) (engine.RunInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(id)
	if err != nil {
		return engine.RunInfo{}, err
	}
	return r.RunInfo, nil
}

func (m *model) Runs(_ context.Context, q engine.Query) ([]engine.RunInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []engine.RunInfo
	for _, r := range slices.Backward(m.runs) {
		if (q.Workflow == "" || q.Workflow == r.Workflow) && (q.Status == "" || q.Status == r.Status) {
			list = append(list, r.RunInfo)
		}
	}
	return list[:min(len(list), cmp.Or(q.Limit, 100))], nil
}

func (m *model) Claim(_ context.Context, run string, c engine.Claim) (engine.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(run)
	if err == nil && r.Status.Terminal() && !(c.Reopen && r.Reopens()) {
		err = no(engine.RunEnded, run)
	}
	if err == nil && r.Owner.Token != "" && m.clock().Before(r.Until) && (c.Dead == 0 || c.Dead != r.Epoch) {
		err = no(engine.LeaseHeld, run)
	}
	if err != nil || c.Owner.Token == "" || c.TTL <= 0 {
		return engine.Lease{}, cmp.Or(err, no("MISUSE", run))
	}
	return m.lease(r, c), nil
}

func (m *model) lease(r *modelRun, c engine.Claim) engine.Lease {
	r.Epoch, r.Owner, r.Until = r.Epoch+1, c.Owner, m.clock().Add(c.TTL)
	return engine.Lease{Run: r.ID, Epoch: r.Epoch, Owner: r.Owner.Token, Until: r.Until}
}

func (m *model) Renew(_ context.Context, leases []engine.Lease, ttl time.Duration) (lost []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range leases {
		if r, err := m.leased(l); err != nil {
			lost = append(lost, l.Run)
		} else {
			r.Until = m.clock().Add(ttl)
		}
	}
	return lost, nil
}

func (m *model) Release(_ context.Context, l engine.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, err := m.leased(l); err == nil {
		r.Owner, r.Until = engine.Owner{}, time.Time{}
	}
	return nil
}

func (m *model) Create(_ context.Context, n engine.NewRun, first engine.Commit, c engine.Claim) (engine.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Owner.Token == "" || c.TTL <= 0 {
		return engine.Lease{}, no("MISUSE", n.ID)
	}
	r, err := m.start(n, []engine.Commit{first})
	if err != nil {
		return engine.Lease{}, err
	}
	m.effects(r, first)
	m.memoize(first)
	lease := m.lease(r, c)
	if r.Status.Terminal() {
		r.Owner, r.Until = engine.Owner{}, time.Time{}
	}
	return lease, nil
}

func (m *model) Import(_ context.Context, n engine.NewRun, frames []engine.Commit, entries []engine.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(frames) == 0 {
		return no("MISUSE", n.ID)
	}
	r, err := m.start(n, frames)
	if err == nil {
		r.Successor = n.Successor
		r.entries = slices.Clone(entries)
		r.base = r.read
	}
	return err
}

// start adds a run with its frames, if they are a chain.
func (m *model) start(n engine.NewRun, frames []engine.Commit) (*modelRun, error) {
	r := &modelRun{RunInfo: engine.RunInfo{ID: n.ID, Workflow: n.Workflow, Version: n.Version, Created: n.Created,
		Generation: n.Generation, Parent: n.Parent}}
	for _, c := range frames {
		if err := m.follow(r, c); err != nil {
			return nil, err
		}
	}
	if _, err := m.find(n.ID); err == nil {
		return nil, no(engine.RunExists, n.ID)
	}
	m.runs = append(m.runs, r)
	return r, nil
}

// follow appends a frame to a run.
func (m *model) follow(r *modelRun, c engine.Commit) error {
	known := []core.Status{core.Running, core.Paused, core.Blocked, core.Finished, core.Failed, core.CancelledRun, core.Continued}
	if len(c.Body) == 0 || c.Hash == "" || !slices.Contains(known, c.Status) {
		return no("MISUSE", r.ID)
	}
	if c.N != r.Head+1 || c.Prev != r.Hash {
		return no(engine.FrameConflict, r.ID)
	}
	r.frames = append(r.frames, string(c.Body))
	r.Head, r.Hash, r.Status, r.Result, r.Failure, r.Updated = c.N, c.Hash, c.Status, c.Result, c.Failure, m.clock()
	r.read = max(r.read, c.Consumed)
	return nil
}

func (m *model) effects(r *modelRun, c engine.Commit) {
	for _, e := range c.Effects {
		if !slices.ContainsFunc(m.outbox, func(have *modelEffect) bool { return have.ID == e.ID }) {
			m.outbox = append(m.outbox, &modelEffect{engine.Delivery{ID: e.ID, Run: r.ID, Path: e.Path, Effect: e.Effect}, m.clock()})
		}
	}
}

func (m *model) Commit(_ context.Context, l engine.Lease, c engine.Commit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := c.Successor
	if next != nil && (c.Status != core.Continued || next.Run.ID == l.Run || next.First.N != 1 || next.First.Consumed != 0 ||
		next.First.Successor != nil || next.Claim.Owner.Token == "" || next.Claim.TTL <= 0) {
		return no("MISUSE", l.Run)
	}
	if r, err := m.find(l.Run); err == nil && r.Epoch == l.Epoch && r.Head == c.N && r.Hash == c.Hash {
		return nil
	}
	r, err := m.leased(l)
	if err != nil {
		return err
	}
	if next != nil && c.N == r.Head+1 && c.Prev == r.Hash {
		if _, err := m.find(next.Run.ID); err == nil {
			return no(engine.RunExists, next.Run.ID)
		}
	}
	if err := m.follow(r, c); err != nil {
		return err
	}
	if next != nil {
		if err := m.succeed(r, next); err != nil {
			return err
		}
	}
	m.effects(r, c)
	m.memoize(c)
	if c.TTL > 0 {
		r.Until = m.clock().Add(c.TTL)
	}
	if r.Status.Terminal() {
		r.Owner, r.Until = engine.Owner{}, time.Time{}
	}
	return nil
}

// succeed adds a run that has the inbox of another, as far as it got.
func (m *model) succeed(r *modelRun, next *engine.Successor) error {
	heir, err := m.start(next.Run, []engine.Commit{next.First})
	if err != nil {
		return err
	}
	r.Successor = heir.ID
	heir.base, heir.read = r.base, r.read
	for _, item := range r.items {
		item.Run = heir.ID
		heir.items = append(heir.items, item)
	}
	m.effects(heir, next.First)
	m.memoize(next.First)
	m.lease(heir, next.Claim)
	if heir.Status.Terminal() {
		heir.Owner, heir.Until = engine.Owner{}, time.Time{}
	}
	return nil
}

// last finds the run at the end of a run's chain.
func (m *model) last(id string) (*modelRun, error) {
	r, err := m.find(id)
	for err == nil && r.Successor != "" {
		next, missing := m.find(r.Successor)
		if missing != nil {
			break
		}
		r = next
	}
	return r, err
}

func (m *model) Frames(_ context.Context, run string, n int64, fn func(int64, []byte) error) error {
	m.mu.Lock()
	r, err := m.find(run)
	if err != nil {
		m.mu.Unlock()
		return err
	}
	frames := slices.Clone(r.frames)
	m.mu.Unlock()
	for i, body := range frames {
		if int64(i)+1 >= n {
			if err := fn(int64(i)+1, []byte(body)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *model) Append(_ context.Context, run string, item engine.Item) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.last(run)
	if err != nil {
		return 0, err
	}
	run = r.ID
	for _, have := range r.items {
		if item.Dedupe != "" && have.Dedupe == item.Dedupe {
			return have.Seq, nil
		}
	}
	if p := item.Event.Payload; p != nil && show(p)[0] == 'n' && string(p) != "null" {
		return 0, no("MISUSE", run)
	}
	if r.Status.Terminal() {
		return 0, no(engine.RunEnded, run)
	}
	item.Run, item.Seq = run, r.base+int64(len(r.items))+1
	item.Event.Seq = item.Seq
	r.items = append(r.items, item)
	return item.Seq, nil
}

func (m *model) Unread(_ context.Context, owner string) ([]engine.Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []engine.Item
	for _, r := range m.runs {
		for _, item := range r.items {
			if owner != "" && r.Owner.Token == owner && item.Seq > r.read {
				list = append(list, item)
			}
		}
	}
	return list, nil
}

func (m *model) Record(_ context.Context, l engine.Lease, e engine.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.leased(l)
	if err != nil {
		return err
	}
	r.entries = slices.DeleteFunc(r.entries, func(have engine.Entry) bool { return have.Path == e.Path && have.Name == e.Name })
	r.entries = append(r.entries, e)
	return nil
}

func (m *model) Entries(_ context.Context, run, path string) ([]engine.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(run)
	if err != nil {
		return nil, err
	}
	var list []engine.Entry
	for _, e := range r.entries {
		if path == "" || e.Path == path {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b engine.Entry) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name)) })
	return list, nil
}

func (m *model) Due(_ context.Context, hold time.Duration, limit int) ([]engine.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	slices.SortStableFunc(m.outbox, func(a, b *modelEffect) int { return a.due.Compare(b.due) })
	var list []engine.Delivery
	for _, e := range m.outbox {
		if len(list) < limit && !e.due.After(m.clock()) {
			e.due = m.clock().Add(hold)
			list = append(list, e.Delivery)
		}
	}
	return list, nil
}

func (m *model) Delivered(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outbox = slices.DeleteFunc(m.outbox, func(e *modelEffect) bool { return e.ID == id })
	return nil
}

func (m *model) Postpone(_ context.Context, id string, wait time.Duration, why string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.outbox {
		if e.ID == id {
			e.due, e.Tries, e.Why = m.clock().Add(wait), e.Tries+1, why
		}
	}
	return nil
}

func (m *model) memoize(c engine.Commit) {
	for _, w := range c.Cache {
		if w.Used {
			for _, have := range m.cache {
				if have.Key == w.Entry.Key {
					have.Used = m.clock()
				}
			}
			continue
		}
		e := w.Entry
		e.Created, e.Used, e.Expires = m.clock(), m.clock(), time.Time{}
		if w.TTL > 0 {
			e.Expires = m.clock().Add(w.TTL)
		}
		delete(m.holds, e.Key)
		m.cache = slices.DeleteFunc(m.cache, func(have *modelMemo) bool { return have.Key == e.Key })
		m.cache = append(m.cache, &modelMemo{e})
	}
}

func (m *model) Lookup(_ context.Context, key string, maxAge time.Duration) (engine.CacheEntry, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.cache {
		if e.Key == key && (e.Expires.IsZero() || m.clock().Before(e.Expires)) && (maxAge == 0 || m.clock().Before(e.Created.Add(maxAge))) {
			return e.CacheEntry, true, nil
		}
	}
	return engine.CacheEntry{}, false, nil
}

func (m *model) Hold(_ context.Context, key, owner string, ttl time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key == "" || owner == "" || ttl <= 0 {
		return false, no("MISUSE", "")
	}
	if h, ok := m.holds[key]; ok && h.owner != owner && m.clock().Before(h.until) {
		return false, nil
	}
	if m.holds == nil {
		m.holds = map[string]modelHold{}
	}
	m.holds[key] = modelHold{owner, m.clock().Add(ttl)}
	return true, nil
}

func (m *model) Free(_ context.Context, key, owner string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds[key].owner == owner {
		delete(m.holds, key)
	}
	return nil
}

func (m *model) Cached(_ context.Context, prefix string, limit int) ([]engine.CacheEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []engine.CacheEntry
	for _, e := range m.cache {
		if strings.HasPrefix(e.Key, prefix) {
			entry := e.CacheEntry
			entry.Output = nil
			list = append(list, entry)
		}
	}
	slices.SortFunc(list, func(a, b engine.CacheEntry) int { return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Key, b.Key)) })
	return list[:min(len(list), max(limit, 0))], nil
}

func (m *model) Forget(_ context.Context, prefix string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.cache)
	m.cache = slices.DeleteFunc(m.cache, func(e *modelMemo) bool { return strings.HasPrefix(e.Key, prefix) })
	return before - len(m.cache), nil
}

func (m *model) CacheStats(context.Context) (engine.CacheStats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stats := engine.CacheStats{Entries: int64(len(m.cache))}
	for _, h := range m.holds {
		if m.clock().Before(h.until) {
			stats.Held++
		}
	}
	return stats, nil
}
