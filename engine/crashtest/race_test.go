//go:build unix

package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cairnrun/cairn/engine/crashtest"
)

// Several processes want the same runs. Each run has one owner at a time, also when owners are killed and all others
// rush for what they leave, and every run comes to its end.
func TestKillWhileProcessesRaceForRuns(t *testing.T) {
	t.Parallel()
	rng := random(t)
	out, took, _ := undisturbed(t)
	j := job{place: newPlace(t), pause: bodyPause}
	for i := range 12 {
		j.runs = append(j.runs, fmt.Sprint("run-", i))
	}
	workers := []*child{spawn(t, shuffled(rng, j)), spawn(t, shuffled(rng, j)), spawn(t, shuffled(rng, j))}
	// Four deaths can't make five losses of a task.
	for i := range 4 {
		victim := workers[i%len(workers)]
		victim.until("opened")
		timer := time.AfterFunc(time.Duration(rng.Int64N(int64(took))), func() { _ = victim.cmd.Process.Kill() })
		victim.until("never")
		timer.Stop()
		if code := victim.wait(); code > 0 {
			t.Fatalf("exit code %d, said %q\n%s", code, victim.said, victim.stderr.String())
		}
		workers[i%len(workers)] = spawn(t, shuffled(rng, j))
	}
	for _, w := range workers {
		w.quit(0)
	}
	owners := map[string]int{}
	for _, run := range j.runs {
		ev := finish(t, checker(t, j.place, crashtest.Everything, out), j.place, run)
		seen := map[string]bool{}
		for _, l := range ev.Log {
			if l.Kind == crashtest.Acked && !seen[l.Who] {
				seen[l.Who] = true
				owners[run]++
			}
		}
	}
	t.Logf("owners per run: %v", owners)
}

// shuffled is the job with the runs in another order, so that processes meet in all ways.
func shuffled(rng *rand.Rand, j job) job {
	j.runs = slices.Clone(j.runs)
	rng.Shuffle(len(j.runs), func(a, b int) { j.runs[a], j.runs[b] = j.runs[b], j.runs[a] })
	return j
}
