//go:build unix

package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/crashtest"
)

// gatherChain reads what a chain has left.
func gatherChain(t testing.TB, place crashtest.Place, final bool) []*crashtest.Evidence {
	t.Helper()
	all, err := crashtest.GatherChain(context.Background(), place, "r", final)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// finishChain drains the outbox of a chain that has ended and checks all there is to check.
func finishChain(t testing.TB, c *crashtest.Checker, place crashtest.Place, when string) []*crashtest.Evidence {
	t.Helper()
	log, err := crashtest.OpenLog(place.Log, "parent")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := crashtest.Drain(context.Background(), place, &crashtest.World{Log: log}); err != nil {
		t.Fatal(err)
	}
	all := gatherChain(t, place, true)
	report(t, when+", at its end", c.Chain(context.Background(), all, true))
	return all
}

// send puts an item into the inbox of the chain's first run; false where the chain has ended.
func send(t testing.TB, place crashtest.Place, ev core.Event) bool {
	t.Helper()
	store, db, err := place.Open(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = store.Append(context.Background(), "r", engine.Item{Event: ev, Dedupe: ev.Name})
	if err != nil && !errors.Is(err, engine.RunEnded) {
		t.Error(err)
	}
	return err == nil
}

// TestKillAroundHandoff kills a chain of runs after each of its transactions, and at instants between. Either the old run
// lives or exactly one successor does, and what was sent to the first run is taken once.
func TestKillAroundHandoff(t *testing.T) {
	t.Parallel()
	j := job{place: newPlace(t), runs: []string{"r"}, workflow: crashtest.Relayed, pause: bodyPause}
	p := spawn(t, j)
	p.must("ended r finished")
	p.quit(0)
	took := time.Since(p.began)
	all := finishChain(t, checker(t, j.place, j.workflow, nil), j.place, "peace")
	if len(all) != crashtest.Legs {
		t.Fatalf("in peace the chain has %d runs", len(all))
	}
	type moment struct {
		say   string
		after time.Duration
	}
	var moments []moment
	for _, ev := range all {
		for n := range ev.Frames {
			moments = append(moments, moment{say: fmt.Sprintf("frame %s %d", ev.Run, n+1)})
		}
	}
	rng := random(t)
	for range kills(t) / 10 {
		moments = append(moments, moment{after: time.Duration(rng.Int64N(int64(took)))})
	}
	died := map[string]int{}
	for i, m := range moments {
		when := fmt.Sprintf("moment %d (%s%v)", i, m.say, m.after)
		j.place = newPlace(t)
		c := checker(t, j.place, j.workflow, nil)
		p := spawn(t, j)
		var sent []string
		post := func(kind core.EventKind, name string) {
			if send(t, j.place, core.Event{Kind: kind, Name: name}) {
				sent = append(sent, name)
			}
		}
		if m.say != "" {
			p.must("frame r 1")
			if m.say != "frame r 1" {
				post(core.SignalReceived, "alive")
				p.until(m.say)
			}
		} else {
			timer := time.AfterFunc(m.after, func() { _ = p.cmd.Process.Kill() })
			p.until("never")
			timer.Stop()
		}
		p.kill()
		all := gatherChain(t, j.place, false)
		report(t, when, c.Chain(t.Context(), all, false))
		tail := all[len(all)-1]
		died[fmt.Sprintf("run %d, %s", len(all), tail.Info.Status)]++
		cancelled := false
		if !tail.Missing && !tail.Info.Status.Terminal() {
			post(core.SignalReceived, "dead")
			if cancelled = i%3 == 0; cancelled {
				post(core.CancelAsked, "enough")
			}
		} else {
			sent = nil // what has not been taken by the end is for nobody
		}
		p = spawn(t, j)
		p.quit(0)
		all = finishChain(t, c, j.place, when)
		var taken []string
		for _, e := range crashtest.Items(all) {
			taken = append(taken, e.Name)
		}
		if want := slices.Clone(sent); want != nil && !slices.Equal(taken, want) {
			t.Errorf("%s: I5: sent %v, taken %v", when, sent, taken)
		}
		want := core.Finished
		if cancelled {
			want = core.CancelledRun
		}
		if got := all[len(all)-1].Info.Status; got != want {
			t.Errorf("%s: the chain ends %s, want %s", when, got, want)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills; where: %s", len(moments), table(died))
}

// TestChainCheckerBites: evidence of a broken chain is seen.
func TestChainCheckerBites(t *testing.T) {
	t.Parallel()
	j := job{place: newPlace(t), runs: []string{"r"}, workflow: crashtest.Relayed, pause: bodyPause}
	p := spawn(t, j)
	p.must("ended r finished")
	p.quit(0)
	finishChain(t, checker(t, j.place, j.workflow, nil), j.place, "peace")
	for want, forge := range map[string]func(all []*crashtest.Evidence) []*crashtest.Evidence{
		"is continued, and is run 2 of 2": func(all []*crashtest.Evidence) []*crashtest.Evidence { return all[:2] },
		"has the heirs [r.2 r.2b]": func(all []*crashtest.Evidence) []*crashtest.Evidence {
			all[0].Heirs = append(all[0].Heirs, "r.2b")
			return all
		},
		"stands at 2": func(all []*crashtest.Evidence) []*crashtest.Evidence { return slices.Delete(all, 1, 2) },
		"there is no such run": func(all []*crashtest.Evidence) []*crashtest.Evidence {
			all[1].Missing, all[1].Begun = true, false
			return all[:2]
		},
		"has decided on": func(all []*crashtest.Evidence) []*crashtest.Evidence {
			all[0].Frames = all[1].Frames
			return all
		},
	} {
		bad := checker(t, j.place, j.workflow, nil).Chain(t.Context(), forge(gatherChain(t, j.place, false)), false)
		if !slices.ContainsFunc(bad, func(err error) bool { return strings.Contains(err.Error(), want) }) {
			t.Errorf("nobody complains that %q: %v", want, bad)
		}
	}
}

// TestTermAroundHandoff stops a chain gracefully after each of its transactions: it is left resumable, and goes on.
func TestTermAroundHandoff(t *testing.T) {
	t.Parallel()
	for leg := 1; leg <= crashtest.Legs; leg++ {
		for n := 1; n <= 6; n++ {
			j := job{place: newPlace(t), runs: []string{"r"}, workflow: crashtest.Relayed, pause: bodyPause}
			c := checker(t, j.place, j.workflow, nil)
			run := "r"
			if leg > 1 {
				run = fmt.Sprint("r.", leg)
			}
			when := fmt.Sprintf("frame %s %d", run, n)
			p := spawn(t, j)
			p.until(when)
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			if code := p.wait(); code != 0 && code != 3 {
				t.Errorf("%s: exit code %d, said %q", when, code, p.said)
			}
			all := gatherChain(t, j.place, false)
			report(t, when, c.Chain(t.Context(), all, false))
			report(t, when, c.Stopped(t.Context(), all[len(all)-1]))
			p = spawn(t, j)
			p.quit(0)
			if slices.Contains(p.said, "held r") {
				t.Errorf("%s: I12: the lease of a process that has stopped gracefully was waited for", when)
			}
			if all := finishChain(t, c, j.place, when); len(all) != crashtest.Legs {
				t.Errorf("%s: the chain has %d runs", when, len(all))
			}
		}
	}
}
