//go:build unix

package crashtest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/crashtest"
)

// undisturbed runs the workflow once in peace: what it comes to, how long a worker takes, and how many frames.
func undisturbed(t testing.TB) (out *crashtest.Outcome, took time.Duration, frames int) {
	t.Helper()
	j := job{place: newPlace(t), runs: []string{"peace"}, pause: bodyPause}
	p := spawn(t, j)
	p.must("ended peace finished")
	p.quit(0)
	took = time.Since(p.began)
	ev := finish(t, checker(t, j.place, crashtest.Everything, nil), j.place, "peace")
	out, err := crashtest.OutcomeOf(ev)
	if err != nil {
		t.Fatal(err)
	}
	return out, took, len(ev.Frames)
}

// murders counts kills by what told the moment and by how far the run had come.
type murders struct {
	n        int
	runs     int
	unheld   time.Duration // the longest time from the start of a process to having a run whose owner was killed
	triggers map[string]int
	instants map[string]int
}

// TestKill kills workers at random instants until enough have died, and looks at what is left after each.
func TestKill(t *testing.T) {
	rng := random(t)
	out, took, frames := undisturbed(t)
	want := kills(t)
	m := &murders{triggers: map[string]int{}, instants: map[string]int{}}
	began := time.Now()
	var place crashtest.Place
	for ; m.n < want && !t.Failed(); m.runs++ {
		if m.runs%4 == 0 { // several runs share a file, and some kills fall into the making of one
			place = newPlace(t)
		}
		m.run(t, rng, job{place: place, runs: []string{fmt.Sprint("run-", m.runs)}, pause: bodyPause}, out, took, int64(frames), want)
	}
	t.Logf("%d kills in %d runs in %s; a run in peace takes %s and %d frames", m.n, m.runs, time.Since(began).Round(time.Millisecond), took.Round(time.Millisecond), frames)
	t.Logf("what told the moment: %s", table(m.triggers))
	t.Logf("how far the run was: %s", table(m.instants))
	t.Logf("longest way from exec to owning the run of a killed process: %s", m.unheld.Round(time.Millisecond))
	if m.unheld >= engine.DefaultLeaseTTL {
		t.Errorf("a takeover took %s: it has waited for the lease of a dead process", m.unheld)
	}
}

// run kills one run's processes until it ends.
func (m *murders) run(t *testing.T, rng *rand.Rand, j job, out *crashtest.Outcome, took time.Duration, frames int64, want int) {
	c := checker(t, j.place, crashtest.Everything, out)
	run := j.runs[0]
	var piped int64
	// risk bounds how many attempts of one task have been lost. The fifth fails the task, which is not the end to compare
	// with, so the last process of a run that is close to it is spared.
	risk, begun := 0, false
	for life := 0; ; life++ {
		p := spawn(t, j)
		how := "none"
		if risk < 4 && m.n < want {
			how = p.killAtRandom(rng, run, took, piped, frames)
		}
		code := p.wait()
		piped, begun = max(piped, p.frames[run]), begun || !p.owned[run].IsZero()
		if at := p.owned[run]; !at.IsZero() {
			m.unheld = max(m.unheld, at.Sub(p.began))
		}
		when := fmt.Sprintf("run %s, life %d (%s)", run, life, how)
		if slices.Contains(p.said, "held "+run) {
			t.Errorf("%s: I10: the lease of a killed process was waited for", when)
		}
		if code >= 0 { // it has ended by itself
			if code != 0 {
				t.Errorf("%s: exit code %d, said %q\n%s", when, code, p.said, p.stderr.String())
			}
			finish(t, c, j.place, run)
			return
		}
		m.n++
		m.triggers[strings.Fields(how)[0]]++
		if risk++; risk < 3 && rng.IntN(4) == 0 { // let the next worker be the first to open what the kill has left
			m.instants["not looked at"]++
			continue
		}
		ev := gather(t, j, run, false)
		ev.Piped, ev.Begun = piped, begun
		report(t, when, c.Check(t.Context(), ev))
		if t.Failed() {
			return
		}
		m.instants[instant(ev, frames)]++
		risk = ev.Losses()
	}
}

// instant says how far a run was when its process was killed.
func instant(ev *crashtest.Evidence, frames int64) string {
	switch n := int64(len(ev.Frames)); {
	case ev.Missing:
		return "0 before the first frame"
	case ev.Info.Status.Terminal():
		return "9 after the last frame"
	default:
		return fmt.Sprintf("%d/8 of its frames", min(8, 1+n*8/(frames+1)))
	}
}

// killAtRandom sends SIGKILL at one of three kinds of moments and says which.
func (p *child) killAtRandom(rng *rand.Rand, run string, took time.Duration, piped, frames int64) string {
	switch rng.IntN(4) {
	case 0:
		after := piped + 1 + rng.Int64N(max(1, frames-piped))
		p.until(fmt.Sprintf("frame %s %d", run, after))
		_ = p.cmd.Process.Kill() // it may have ended
		return fmt.Sprintf("frame %d", after)
	case 1:
		word := []string{"opened", crashtest.Began, crashtest.Resumed, "start " + run, "ended"}[rng.IntN(5)]
		p.until(word)
		_ = p.cmd.Process.Kill()
		return "word " + word
	}
	after := time.Duration(rng.Int64N(int64(took)))
	timer := time.AfterFunc(after, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	p.until("never")
	return fmt.Sprint("time ", after)
}

func table(counts map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s: %d", name, counts[name]))
	}
	return strings.Join(out, ", ")
}
