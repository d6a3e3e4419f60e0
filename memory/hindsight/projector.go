package hindsight

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cairnrun/cairn"
)

// Projector brings the changes of a queue to the server, so that every document ends in its newest version, once in
// effect, whatever fails or is killed in between. Client and Queue are required. Any number may drain one queue, in one process or
// several; a Projector keeps no state, and its fields must not change while it runs.
//
// A change is done when the server says that its operation is completed and shows the document in that version. Until
// then no newer version of the document is sent, because the server works on what it has taken in any order. A server
// that shows an older version, or none, was overtaken by a late request; the change is then sent once more under another
// id.
//
// What is left: a request of which the answer was lost may reach the server late. Sent again it has the same operation
// id, so it has no effect twice; but a late deletion has no id. It can hit the version after it only if it is slower
// than its own retry, all of the newer version's operation and the look at the document afterwards.
type Projector struct {
	Client *Client
	Queue  Queue
	// Batch is how many items are claimed at a time. 0 is 16.
	Batch int
	// Wait is how long a pass waits for the server to complete what it took; what takes longer is looked at again in a
	// later pass. 0 is 5 s.
	Wait time.Duration
	// First is the pause after an item's first failure; it doubles up to Most. A longer Retry-After is honoured. 0 is 1 s
	// and 15 min.
	First, Most time.Duration
	// MaxAttempts is how many failures make an item dead. 0 is 100: about a day of a server that does not answer.
	MaxAttempts int
	// MaxBroken is how many are enough where the server says that it failed at this item: status 500, or a failed
	// operation. It may be the item that breaks it. 0 is 5.
	MaxBroken int
	// Idle is how long Run waits when nothing is due and nobody wakes it. 0 is 5 s.
	Idle time.Duration
	// Report, if set, gets what each pass of Run did and what went wrong with the queue. It is called between passes.
	Report func(Drained, error)
}

// Drained counts what a pass did.
type Drained struct {
	// Done had their effect; Later are not known yet; Failed will be tried again; Dead will not.
	Done, Later, Failed, Dead int
	// Abandoned are items whose claim ran out, or the context ended, before a verdict. Whoever claims them next repeats
	// what is needed.
	Abandoned int
	// Last is the last failure, nil for none.
	Last error
}

func (d *Drained) add(o Drained) {
	d.Done += o.Done
	d.Later += o.Later
	d.Failed += o.Failed
	d.Dead += o.Dead
	d.Abandoned += o.Abandoned
	if o.Last != nil {
		d.Last = o.Last
	}
}

// Run drains the queue until ctx ends, when something is sent on wake and every Idle at least. Wake may be nil.
func (p *Projector) Run(ctx context.Context, wake <-chan struct{}) {
	for ctx.Err() == nil {
		got, err := p.Drain(ctx)
		if p.Report != nil && ctx.Err() == nil {
			p.Report(got, err)
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-time.After(or(p.Idle, 5*time.Second)):
		}
	}
}

// Drain makes passes until nothing is due. The error is the queue's; what the server did wrong is in the queue, item by
// item. It stops early while the server does not answer at all.
func (p *Projector) Drain(ctx context.Context) (Drained, error) {
	var out Drained
	for ctx.Err() == nil {
		items, err := p.Queue.Due(ctx, or(p.Batch, 16))
		if err != nil || len(items) == 0 {
			return out, err
		}
		pass := p.pass(ctx, items)
		out.add(pass.Drained)
		if pass.queue != nil || pass.down {
			return out, pass.queue
		}
	}
	return out, nil
}

// delivery is an item on its way.
type delivery struct {
	Item
	id    string // the server's operation
	again bool   // it was sent under a second id
}

type pass struct {
	*Projector
	Drained
	down  bool // the server does not answer: the rest waits
	pause time.Duration
	queue error // a verdict could not be written
}

func (p *Projector) pass(ctx context.Context, items []Item) *pass {
	s := &pass{Projector: p}
	var open []*delivery
	for i, item := range items {
		if s.down {
			for _, rest := range items[i:] {
				s.later(ctx, rest, s.pause)
			}
			break
		}
		if d := s.send(ctx, item); d != nil {
			open = append(open, d)
		}
	}
	s.settle(ctx, open)
	return s
}

// within gives the time that the item's claim leaves; false where there is none.
func within(ctx context.Context, item Item) (context.Context, context.CancelFunc, bool) {
	if item.Until.IsZero() {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, ctx.Err() == nil
	}
	ctx, cancel := context.WithDeadline(ctx, item.Until)
	return ctx, cancel, ctx.Err() == nil
}

// send does an item's first step. A retain comes back as a delivery that the server has taken.
func (s *pass) send(ctx context.Context, item Item) *delivery {
	ctx, cancel, ok := within(ctx, item)
	defer cancel()
	if !ok {
		s.Abandoned++
		return nil
	}
	switch item.Op {
	case Delete:
		s.remove(ctx, item)
	case Retain:
		id, err := s.Client.Retain(ctx, item.Bank, item.record())
		if err == nil {
			return &delivery{Item: item, id: id}
		}
		s.failed(ctx, item, err)
	default:
		s.failed(ctx, item, invalid("an item with the op "+string(item.Op), "use retain or delete"))
	}
	return nil
}

func (i Item) record() Record {
	metadata := map[string]string{}
	for k, v := range i.Metadata {
		metadata[k] = v
	}
	metadata[VersionKey] = strconv.FormatInt(i.Version, 10)
	return Record{Operation: i.OperationID, Document: i.Document, Content: i.Content, Context: i.Context, Tags: i.Tags,
		Metadata: metadata, Time: i.Time}
}

// remove deletes a document once the server has nothing else to do for it, which would bring it back.
func (s *pass) remove(ctx context.Context, item Item) {
	for _, state := range []State{Pending, Processing} {
		for offset := 0; ; {
			list, total, err := s.Client.Operations(ctx, item.Bank, state, 100, offset)
			if err != nil {
				s.failed(ctx, item, err)
				return
			}
			for _, o := range list {
				if o.Document == item.Document {
					s.later(ctx, item, or(s.First, time.Second))
					return
				}
			}
			offset += len(list)
			if len(list) == 0 || offset >= total {
				break
			}
		}
	}
	if _, err := s.Client.DeleteDocument(ctx, item.Bank, item.Document); err != nil {
		s.failed(ctx, item, err)
		return
	}
	s.done(ctx, item)
}

// settle looks after what was taken until it is done, or the pass has waited long enough.
func (s *pass) settle(ctx context.Context, open []*delivery) {
	end := time.Now().Add(or(s.Wait, 5*time.Second))
	for pause := 50 * time.Millisecond; len(open) > 0; pause = min(2*pause, time.Second) {
		if !sleep(ctx, pause) {
			s.Abandoned += len(open)
			return
		}
		last := s.down || !time.Now().Before(end)
		var still []*delivery
		for _, d := range open {
			if s.look(ctx, d) {
				continue
			}
			if last || s.down {
				s.later(ctx, d.Item, max(pause, s.pause))
				continue
			}
			still = append(still, d)
		}
		open = still
	}
}

// look asks how far a delivery is. True where it has got its verdict.
func (s *pass) look(ctx context.Context, d *delivery) bool {
	ctx, cancel, ok := within(ctx, d.Item)
	defer cancel()
	if !ok {
		s.Abandoned++
		return true
	}
	if s.down {
		return false
	}
	op, there, err := s.Client.Operation(ctx, d.Bank, d.id)
	switch {
	case err != nil:
		s.failed(ctx, d.Item, err)
		return true
	case !there:
		s.failed(ctx, d.Item, &cairn.Error{Code: OperationFailed, Message: "the server has lost operation " + d.id, Next: "it is sent again"})
		return true
	case op.State == Completed:
		return s.verify(ctx, d)
	case op.State == Failed || op.State == Cancelled:
		s.broken(ctx, d.Item, op)
		return true
	}
	return false
}

// broken makes the server repeat an operation, unless that was the last time: a dead item must not have an effect later.
func (s *pass) broken(ctx context.Context, item Item, op Operation) {
	cause := &cairn.Error{Code: OperationFailed, Message: "operation " + op.ID + " is " + string(op.State) + ": " + op.Error,
		Next: "read the server's log"}
	if item.Attempts+1 < or(s.MaxBroken, 5) {
		if _, err := s.Client.RetryOperation(ctx, item.Bank, op.ID); err != nil && Retryable(err) {
			s.failed(ctx, item, err)
			return
		}
	}
	s.failed(ctx, item, cause)
}

// verify compares the document with what was sent. A server that does not show the version is believed.
func (s *pass) verify(ctx context.Context, d *delivery) bool {
	doc, there, err := s.Client.Document(ctx, d.Bank, d.Document)
	if err != nil {
		s.failed(ctx, d.Item, err)
		return true
	}
	shown, known := doc.Metadata[VersionKey]
	version, err := strconv.ParseInt(shown, 10, 64)
	switch {
	case there && (!known || err != nil || version >= d.Version):
		s.done(ctx, d.Item)
		return true
	case d.again:
		s.failed(ctx, d.Item, &cairn.Error{Code: OperationFailed, Message: "document " + d.Document + " was overwritten by an older version",
			Next: "it is sent again"})
		return true
	}
	d.again = true
	d.id, err = s.Client.retain(ctx, d.Bank, d.record(), uuid(s.Client.cfg.BankPrefix+d.Bank, d.OperationID, "again",
		strconv.Itoa(d.Attempts), strconv.FormatBool(there), doc.Updated.Format(time.RFC3339Nano)))
	if err != nil {
		s.failed(ctx, d.Item, err)
		return true
	}
	return false
}

// failed gives the verdict on an error. An item whose context has ended gets none: nobody knows what became of the request,
// and the claim runs out by itself.
func (s *pass) failed(ctx context.Context, item Item, err error) {
	s.Last = err
	if ctx.Err() != nil {
		s.Abandoned++
		return
	}
	var fault *Fault
	errors.As(err, &fault)
	most := or(s.MaxAttempts, 100)
	if statusOf(err) == http.StatusInternalServerError || cairn.CodeOf(err, "") == OperationFailed {
		most = min(most, or(s.MaxBroken, 5))
	}
	if !Retryable(err) || item.Attempts+1 >= most {
		s.Dead++
		s.verdict(ctx, func(ctx context.Context) error { return s.Queue.Dead(ctx, item, err) })
		return
	}
	wait := or(s.First, time.Second) << min(item.Attempts, 20)
	if limit := or(s.Most, 15*time.Minute); wait > limit || wait <= 0 {
		wait = limit
	}
	if fault != nil {
		wait = max(wait, fault.After)
		if fault.Status == 0 || fault.Status == http.StatusTooManyRequests || fault.Status == http.StatusServiceUnavailable {
			s.down, s.pause = true, max(fault.After, min(wait, 30*time.Second)) // the others' pause: it was not their fault
		}
	}
	s.Failed++
	s.verdict(ctx, func(ctx context.Context) error { return s.Queue.Fail(ctx, item, err, time.Now().Add(wait)) })
}

func (s *pass) done(ctx context.Context, item Item) {
	s.Done++
	s.verdict(ctx, func(ctx context.Context) error { return s.Queue.Done(ctx, item) })
}

func (s *pass) later(ctx context.Context, item Item, wait time.Duration) {
	s.Later++
	s.verdict(ctx, func(ctx context.Context) error { return s.Queue.Later(ctx, item, time.Now().Add(wait)) })
}

// verdict writes to the queue also when the context ends just now: what is known should not be asked again.
func (s *pass) verdict(ctx context.Context, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := write(ctx); err != nil {
		s.queue = errors.Join(s.queue, err)
	}
}

// or is v, or what stands in for its zero value.
func or[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
