// Command bench measures what a durable step costs, and prints it beside a floor measured in the same run: a
// single-row INSERT per transaction by the same driver, with the same pragmas, on the same disk. Machines are noisy;
// ratios to the floor can be compared, seconds can't.
//
//	go run ./internal/bench            # the tables of docs/benchmarks.md, synchronous=FULL
//	go run ./internal/bench -normal    # the second table, synchronous=NORMAL
//	go run ./internal/bench -only seq  # one scenario, for strace and pprof
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/cairnrun/cairn/engine/sqlite"
)

// settings of all scenarios.
type settings struct {
	dir   string
	sync  sqlite.Synchronous
	tasks int
}

func main() {
	normal := flag.Bool("normal", false, "synchronous=NORMAL: a power cut may take the last commits back")
	only := flag.String("only", "", "one scenario: floor, seq, runs, fan, fold, hits, hitfan, handoff, long, resume or exit")
	dir := flag.String("dir", "", "where the databases go; a temporary directory by default. It decides which disk is measured")
	tasks := flag.Int("tasks", 1000, "tasks of the seq scenario")
	rounds := flag.Int("rounds", 3, "how often each scenario runs; the median counts")
	role := flag.String("child", "", "internal: what a child process of the harness does")
	flag.Parse()
	if err := run(*normal, *only, *dir, *role, *tasks, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(normal bool, only, dir, role string, tasks, rounds int) error {
	s := settings{dir: dir, sync: sqlite.Full, tasks: tasks}
	if normal {
		s.sync = sqlite.Normal
	}
	if role != "" {
		return s.child(role)
	}
	if dir == "" {
		tmp, err := os.MkdirTemp("", "cairn-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		s.dir = tmp
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer out.Flush()
	fmt.Fprintln(out, "scenario\tmedian\tper second\tof the floor\taim\tmore")
	for _, sc := range scenarios {
		if only != "" && only != sc.name {
			continue
		}
		if err := s.measure(out, sc, rounds); err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
	}
	return nil
}

// scenario is one line of the table.
type scenario struct {
	name, about, aim string
	// steps is how many durable steps one run of it takes; 0 for scenarios that are told in time alone.
	steps int
	run   func(s settings) (took time.Duration, more string, err error)
}

// measure runs a scenario and a floor of as many transactions right before it, several times, and prints the median.
func (s settings) measure(out *tabwriter.Writer, sc scenario, rounds int) error {
	type round struct {
		took  time.Duration
		ratio float64
		more  string
	}
	var all []round
	for i := range rounds {
		one := s
		one.dir = filepath.Join(s.dir, fmt.Sprintf("%s-%d", sc.name, i))
		if err := os.MkdirAll(one.dir, 0o755); err != nil {
			return err
		}
		floor := time.Duration(0)
		if sc.steps > 0 {
			var err error
			if floor, _, err = floorOf(one, min(sc.steps, 1000)); err != nil {
				return err
			}
		}
		took, more, err := sc.run(one)
		if err != nil {
			return err
		}
		r := round{took: took, more: more}
		if sc.steps > 0 {
			r.ratio = float64(floor) / float64(min(sc.steps, 1000)) * float64(sc.steps) / float64(took)
		}
		all = append(all, r)
		_ = os.RemoveAll(one.dir)
	}
	slices.SortFunc(all, func(a, b round) int { return int(a.took - b.took) })
	m := all[len(all)/2]
	slices.SortFunc(all, func(a, b round) int {
		if a.ratio < b.ratio {
			return -1
		}
		return 1
	})
	perSecond, ratio := "", ""
	if sc.steps > 0 {
		perSecond = fmt.Sprintf("%.0f", float64(sc.steps)/m.took.Seconds())
		ratio = fmt.Sprintf("%.2f (%.2f–%.2f)", all[len(all)/2].ratio, all[0].ratio, all[len(all)-1].ratio)
	}
	_, err := fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", sc.about, m.took.Round(10*time.Microsecond), perSecond, ratio, sc.aim, m.more)
	return err
}

var background = context.Background()
