package hindsight_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn/memory/hindsight"
	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
)

// network carries requests to a server in memory. What it does to each is decided by fault: before and after the effect
// it may take time, and either may fail. A request whose context has ended before it arrives has no effect.
type network struct {
	handler http.Handler
	fault   func(r *http.Request) (before, after time.Duration, verdict string)
}

var errCut = errors.New("connection reset by peer")

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	var before, after time.Duration
	var verdict string
	if n.fault != nil {
		before, after, verdict = n.fault(r)
	}
	if err := pause(r.Context(), before); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	switch verdict {
	case "cut before":
		return nil, errCut
	case "":
	case "cut after":
		n.handler.ServeHTTP(w, r)
		return nil, errCut
	default: // a status
		status, _ := strconv.Atoi(verdict)
		w.WriteHeader(status)
		return w.Result(), nil
	}
	n.handler.ServeHTTP(w, r)
	if err := pause(r.Context(), after); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	return ctx.Err()
}

func projected(q *hindsighttest.Queue, n *network) hindsight.Projector {
	client, err := hindsight.New(hindsight.Config{URL: "http://hindsight.test", BankPrefix: "dev-", HTTP: &http.Client{Transport: n}})
	if err != nil {
		panic(err)
	}
	return hindsight.Projector{Client: client, Queue: q, MaxAttempts: 1000, MaxBroken: 1000}
}

// Every document ends in its newest version, and no older one comes after a newer, whatever fails: requests before and
// after their effect, operations on the server, which works in any order, and projectors killed at any instant, two at
// a time. CAIRN_SEED repeats one round.
func TestProjectorProperty(t *testing.T) {
	first, rounds := uint64(1), uint64(150)
	if s, err := strconv.ParseUint(os.Getenv("CAIRN_SEED"), 10, 64); err == nil {
		first, rounds = s, 1
	}
	for seed := first; seed < first+rounds; seed++ {
		synctest.Test(t, func(t *testing.T) { disorder(t, seed) })
		if t.Failed() {
			t.Fatalf("CAIRN_SEED=%d repeats it", seed)
		}
	}
}

func disorder(t *testing.T, seed uint64) {
	var mu sync.Mutex // guards dice
	dice := rand.New(rand.NewPCG(seed, 7))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}
	server := hindsighttest.NewServer([]string{"0.9.1", "1.1.0"}[roll(2)])
	server.Slow = true
	calm := false
	net := &network{handler: server}
	net.fault = func(*http.Request) (before, after time.Duration, verdict string) {
		for range roll(3) {
			reason := ""
			if !calm && roll(8) == 0 {
				reason = "out of memory"
			}
			server.Work(roll, reason)
		}
		before, after = time.Duration(roll(300))*time.Millisecond, time.Duration(roll(300))*time.Millisecond
		if calm {
			return before, after, ""
		}
		if roll(40) == 0 {
			before = 2 * time.Minute // longer than any claim
		}
		return before, after, []string{"cut before", "cut after", "503", "500", "429", "", "", "", "", "", "", "", "", ""}[roll(14)]
	}

	queue := &hindsighttest.Queue{}
	type key struct{ bank, doc string }
	newest := map[key]hindsight.Item{}
	var items []hindsight.Item
	for d := range 1 + roll(4) {
		k := key{[]string{"project-x", "user-1"}[d%2], fmt.Sprint("doc/", d)}
		for v := range 1 + roll(5) {
			item := hindsight.Item{OperationID: fmt.Sprint(k, v), Bank: k.bank, Document: k.doc, Version: int64(v + 1), Op: hindsight.Retain,
				Content: fmt.Sprint("version ", v+1)}
			if roll(4) == 0 {
				item.Op, item.Content = hindsight.Delete, ""
			}
			newest[k] = item
			items = append(items, item)
		}
	}
	// They come in order per document, as their run's outbox gives them, while the projectors run.
	feed := func() {
		for _, item := range items {
			<-time.After(time.Duration(roll(2000)) * time.Millisecond)
			queue.Add(item)
		}
	}
	var all sync.WaitGroup
	all.Go(feed)
	for range 2 {
		all.Go(func() {
			for range 6 {
				// Killed after a while: what it held stays claimed, what it had sent may still arrive.
				ctx, kill := context.WithTimeout(t.Context(), time.Duration(roll(20000))*time.Millisecond)
				p := projected(queue, net)
				p.Run(ctx, nil)
				kill()
			}
		})
	}
	all.Wait()
	calm = true
	p := projected(queue, net)
	for range 50 {
		if _, err := p.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if queue.Waiting() == 0 {
			break
		}
		<-time.After(20 * time.Minute)
	}

	if n := queue.Waiting(); n > 0 || len(queue.DeadLetters()) > 0 {
		t.Errorf("%d items wait, dead: %v", n, queue.DeadLetters())
	}
	for k, item := range newest {
		wire := strings.ReplaceAll(k.doc, "/", "~2F")
		got, there := server.Content("dev-"+k.bank, wire)
		if there != (item.Op == hindsight.Retain) || got != item.Content {
			t.Errorf("%v ends as %q (there %v), want %s %q", k, got, there, item.Op, item.Content)
		}
	}
	last, effects := map[string]int64{}, map[string]int{}
	for _, a := range server.Applied() {
		if a.Operation == "" {
			last[a.Bank+" "+a.Document+" doubled"] = 0
			continue
		}
		version, err := strconv.ParseInt(a.Item.Metadata[hindsight.VersionKey], 10, 64)
		if err != nil {
			t.Error(err)
		}
		name := a.Bank + " " + a.Document
		if version < last[name] {
			t.Errorf("%s: version %d came after %d", name, version, last[name])
		}
		if last[name] = version; last[name+" doubled"] == version {
			t.Errorf("%s: version %d was stored twice in a row", name, version)
		}
		last[name+" doubled"] = version
		if effects[a.Operation]++; effects[a.Operation] > 1 {
			t.Errorf("%s: operation %s took effect twice", name, a.Operation)
		}
	}
}

// one drains a single item through a network with a fault until it has no further verdict.
func one(t *testing.T, item hindsight.Item, set func(*hindsight.Projector), fault func(n int) string) (*hindsighttest.Queue, *hindsighttest.Server, int) {
	t.Helper()
	server := hindsighttest.NewServer("1.1.0")
	sent := 0
	net := &network{handler: server, fault: func(*http.Request) (time.Duration, time.Duration, string) {
		sent++
		return 0, 0, fault(sent)
	}}
	queue := &hindsighttest.Queue{}
	queue.Add(item)
	p := projected(queue, net)
	p.MaxAttempts, p.MaxBroken = 0, 0
	if set != nil {
		set(&p)
	}
	for range 300 {
		if _, err := p.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if queue.Waiting() == 0 {
			break
		}
		<-time.After(16 * time.Minute)
	}
	return queue, server, sent
}

var lesson = hindsight.Item{OperationID: "op", Bank: "project-x", Document: "d", Version: 1, Op: hindsight.Retain, Content: "A lesson."}

func TestDeadLetters(t *testing.T) {
	always := func(verdict string) func(int) string { return func(int) string { return verdict } }
	for _, tt := range []struct {
		name    string
		item    hindsight.Item
		fault   func(int) string
		sent    int
		code    error
		message string
	}{
		{"a refusal is final", lesson, always("422"), 1, hindsight.Refused, "422"},
		{"so is a wrong key", lesson, always("401"), 1, hindsight.Auth, "HINDSIGHT_API_KEY"},
		{"a 500 may be the item's doing", lesson, always("500"), 5, hindsight.Unavailable, "500"},
		{"a server that is away is waited for", lesson, always("503"), 100, hindsight.Unavailable, "503"},
		{"for about a day", lesson, always("cut before"), 100, hindsight.Unavailable, "reset"},
		{"no content", hindsight.Item{OperationID: "op", Bank: "b", Document: "d", Version: 1, Op: hindsight.Retain, Content: "\x00"}, always(""), 0, hindsight.Invalid, "no content"},
		{"no op", hindsight.Item{OperationID: "op", Bank: "b", Document: "d", Version: 1}, always(""), 0, hindsight.Invalid, "retain or delete"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue, _, sent := one(t, tt.item, nil, tt.fault)
				why := queue.DeadLetters()["op"]
				if sent != tt.sent || !errors.Is(why, tt.code) || !strings.Contains(why.Error(), tt.message) {
					t.Errorf("%d requests, %v; want %d, %v", sent, why, tt.sent, tt.code)
				}
			})
		})
	}
}

// A failed operation is taken up again under its own id; a dead item's is not.
func TestFailedOperation(t *testing.T) {
	for failures, dead := range map[int]bool{2: false, 5: true} {
		synctest.Test(t, func(t *testing.T) {
			server := hindsighttest.NewServer("1.1.0")
			server.Slow = true
			failed := 0
			net := &network{handler: server, fault: func(*http.Request) (time.Duration, time.Duration, string) {
				reason := ""
				if failed < failures {
					reason = "no memory"
				}
				if server.Work(func(int) int { return 0 }, reason) && reason != "" {
					failed++
				}
				return 0, 0, ""
			}}
			queue := &hindsighttest.Queue{}
			queue.Add(lesson)
			p := projected(queue, net)
			p.MaxBroken = 0
			for range 10 {
				if _, err := p.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute)
			}
			server.Work(func(int) int { return 0 }, "") // what a dead item left would have its effect now
			_, there := server.Content("dev-project-x", "d")
			why := queue.DeadLetters()["op"]
			if there == dead || (why != nil) != dead || dead && !errors.Is(why, hindsight.OperationFailed) || queue.Waiting() != 0 {
				t.Errorf("%d failures: there %v, %v", failures, there, why)
			}
		})
	}
}

// When the server does not answer, one item finds out, not all of them.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		net := &network{handler: hindsighttest.NewServer("1.1.0"), fault: func(*http.Request) (time.Duration, time.Duration, string) {
			sent++
			return 0, 0, "cut before"
		}}
		queue := &hindsighttest.Queue{}
		for d := range 10 {
			item := lesson
			item.OperationID, item.Document = fmt.Sprint(d), fmt.Sprint(d)
			queue.Add(item)
		}
		p := projected(queue, net)
		got, err := p.Drain(t.Context())
		if err != nil || sent != 1 || got.Failed != 1 || got.Later != 9 || queue.Waiting() != 10 || got.Last == nil {
			t.Errorf("%d requests, %+v, %v", sent, got, err)
		}
	})
}

// A server that is slow is not failing.
func TestSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hindsighttest.NewServer("1.1.0")
		server.Slow = true
		queue := &hindsighttest.Queue{}
		queue.Add(lesson)
		second := lesson
		second.OperationID, second.Version, second.Op = "op2", 2, hindsight.Delete
		queue.Add(second)
		p := projected(queue, &network{handler: server})
		p.MaxAttempts = 1
		for range 5 {
			if got, err := p.Drain(t.Context()); err != nil || got.Later != 1 || got.Done+got.Failed+got.Dead != 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			<-time.After(time.Minute)
		}
		server.Work(func(int) int { return 0 }, "")
		if got, err := p.Drain(t.Context()); err != nil || got.Done != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, there := server.Content("dev-project-x", "d"); there {
			t.Error("the deletion did not come last")
		}
	})
}

// A late request of an older change is seen and made good.
func TestOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hindsighttest.NewServer("1.1.0")
		queue := &hindsighttest.Queue{}
		item := lesson
		item.Version = 2
		queue.Add(item)
		late := false
		net := &network{handler: server, fault: func(r *http.Request) (time.Duration, time.Duration, string) {
			if !late && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/documents/") {
				late = true
				server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodDelete, r.URL.Path, nil))
			}
			return 0, 0, ""
		}}
		p := projected(queue, net)
		if got, err := p.Drain(t.Context()); err != nil || got.Done != 1 || got.Last != nil {
			t.Fatalf("%+v, %v", got, err)
		}
		if got, there := server.Content("dev-project-x", "d"); !there || got != lesson.Content || len(server.Applied()) != 3 {
			t.Errorf("%q, %v, %+v", got, there, server.Applied())
		}
	})
}

// The wait that the server asks for is kept, beyond the item's own.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		server := hindsighttest.NewServer("1.1.0")
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at = append(at, time.Since(start))
			if len(at) == 1 {
				w.Header().Set("Retry-After", "90")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			server.ServeHTTP(w, r)
		})
		queue := &hindsighttest.Queue{}
		queue.Add(lesson)
		p := projected(queue, &network{handler: handler})
		reports := 0
		p.Report = func(_ hindsight.Drained, err error) {
			if reports++; err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		p.Run(ctx, make(chan struct{}))
		if queue.Waiting() != 0 || len(at) < 2 || at[1] < 90*time.Second || at[1] > 96*time.Second || reports < 20 {
			t.Errorf("requests at %v, %d reports", at, reports)
		}
	})
}

// A deletion waits for what the server still has to do for the document: an earlier write that was given up here would
// bring it back.
func TestDeletionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hindsighttest.NewServer("1.1.0")
		server.Slow = true
		queue := &hindsighttest.Queue{}
		gone := lesson
		gone.OperationID, gone.Version, gone.Op = "op2", 2, hindsight.Delete
		queue.Add(gone)
		p := projected(queue, &network{handler: server})
		for i := range 120 { // more than a page, of other documents
			if _, err := p.Client.Retain(t.Context(), "project-x", hindsight.Record{Operation: fmt.Sprint(i), Document: fmt.Sprint("d", i), Content: "x"}); err != nil {
				t.Fatal(err)
			}
			if i == 3 {
				if _, err := p.Client.Retain(t.Context(), "project-x", hindsight.Record{Operation: "op", Document: "d", Content: "x"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, err := p.Drain(t.Context()); err != nil || got.Later != 1 || got.Done != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		for server.Work(func(int) int { return 0 }, "") {
		}
		<-time.After(time.Minute)
		if got, err := p.Drain(t.Context()); err != nil || got.Done != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, there := server.Content("dev-project-x", "d"); there {
			t.Error("the document is there")
		}
	})
}
