package crashtest_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/crashtest"
)

var (
	killsFlag = flag.Int("kills", 0, "how many processes the kill -9 test kills; default CAIRN_KILL_ROUNDS, or 200, or 60 with -short")
	seedFlag  = flag.Uint64("seed", 0, "seed of the instants; default another one each time")
)

// order is the input of all runs of Everything.
var order = crashtest.Order{Items: []string{"ab", "cde", "f", "ghij"}, Rounds: 4}

func newPlace(t testing.TB) crashtest.Place {
	t.Helper()
	return crashtest.PlaceIn(t.TempDir())
}

// kills is how many processes are to be killed.
func kills(t testing.TB) int {
	if *killsFlag > 0 {
		return *killsFlag
	}
	if text := os.Getenv("CAIRN_KILL_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("CAIRN_KILL_ROUNDS: %v", err)
		}
		return n
	}
	if testing.Short() {
		return 60
	}
	return 200
}

// random returns numbers from a seed that the log tells.
func random(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// checker is the checker of a run of the workflow in the place.
func checker(t testing.TB, place crashtest.Place, workflow string, undisturbed *crashtest.Outcome) *crashtest.Checker {
	t.Helper()
	files, err := artifact.Open(place.Artifacts)
	if err != nil {
		t.Fatal(err)
	}
	return &crashtest.Checker{Def: (&crashtest.World{}).Definition(workflow), Artifacts: files, Effects: crashtest.Effects,
		Dead: func(o engine.Owner) bool {
			return o.Dead()
		}, Undisturbed: undisturbed}
}

// finish drains the outbox of a run that has ended and checks all there is to check.
func finish(t testing.TB, c *crashtest.Checker, place crashtest.Place, run string) *crashtest.Evidence {
	t.Helper()
	log, err := crashtest.OpenLog(place.Log, "parent")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx := context.Background()
	if err := crashtest.Drain(ctx, place, &crashtest.World{Log: log}); err != nil {
		t.Fatal(err)
	}
	ev, err := crashtest.Gather(ctx, place, run, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Final(ctx, ev) {
		t.Errorf("run %s in %s at its end: %v", run, place.DB, err)
	}
	return ev
}
