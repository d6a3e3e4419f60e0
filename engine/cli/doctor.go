package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory/hindsight"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// symptom is what a check of doctor has found.
type symptom struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
}

// patient is what doctor examines.
type patient struct {
	*app
	store *sqlite.Store
	// memory is nil where there is none, or where it can't be opened.
	memory *lanes.Store
	// runs is how many of the newest are read.
	runs  int
	found []symptom
}

func (p *patient) well(check, format string, args ...any) {
	p.found = append(p.found, symptom{Check: check, OK: true, Text: fmt.Sprintf(format, args...)})
}

func (p *patient) ill(check, next, format string, args ...any) {
	p.found = append(p.found, symptom{Check: check, Text: oneLine(fmt.Sprintf(format, args...)), Next: next})
}

// check is one examination. An error is what it could not find out.
type check struct {
	name string
	look func(ctx context.Context, p *patient) error
}

// checks are what doctor does, in this order. A backend's own examination is one more line.
var checks = []check{
	{"database", checkFile},
	{"leases", checkLeases},
	{"recalls", checkRecalls},
	{"outbox", checkOutbox},
	{"memory", checkMemory},
	{"projections", checkProjections},
	{"index", checkIndex},
	{"remote", checkRemote},
}

const (
	// maxQueue is how many effects of an outbox are looked at, and maxShown how many findings of a kind people are shown.
	maxQueue = 1000
	maxShown = 10
	// tooOld is when what waits should have been delivered: an engine that runs needs seconds.
	tooOld = time.Hour
)

func (a *app) doctor() *cobra.Command {
	runs := 0
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the database, the runs' leases, the outbox, and memory",
		Long: `Examine the database: whether the file is whole, whose processes are gone, which of the newest runs went without memory
that did not answer, what waits in the outbox and for the remote backend, and whether the full-text index is complete.
It changes nothing. The exit code is 1 if something is wrong.`,
		Example: "doctor\ndoctor --runs 500 --json",
		Args:    takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			if runs < 1 {
				return &cairn.Error{Code: BadUsage, Message: fmt.Sprintf("--runs %d", runs), Next: "look at one at least"}
			}
			found, err := a.examine(c.Context(), runs)
			if err != nil {
				return err
			}
			return a.diagnose(found)
		},
	}
	c.Flags().IntVar(&runs, "runs", 50, "how many of the newest runs are read")
	return c
}

func (a *app) examine(ctx context.Context, runs int) ([]symptom, error) {
	p := &patient{app: a, runs: runs}
	if !a.hasDB() {
		p.well("database", "there is none yet at %s", a.db())
		return p.found, checkRemote(ctx, p)
	}
	err := a.reading(ctx, func(store *sqlite.Store) error {
		p.store = store
		p.openMemory(ctx)
		for _, c := range checks {
			if err := c.look(ctx, p); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				p.ill(c.name, nextOf(err), "%s", err)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, context.Canceled) && exitOf(err) == ExitFailed { // it is ours, and can't be opened
		p.ill("database", nextOf(err), "%s", err)
		err = nil
	}
	return p.found, err
}

// openMemory opens memory, if there is any. What hinders it is a finding, and no error.
func (p *patient) openMemory(ctx context.Context) {
	there, err := lanes.Present(ctx, p.store.DB())
	if err != nil {
		p.ill("memory", nextOf(err), "%s", err)
	}
	if err != nil || !there {
		return
	}
	keys, err := memoryKeys()
	if err == nil {
		p.memory, err = lanes.Open(ctx, lanes.Config{DB: p.store.DB(), Keys: keys, ReadOnly: true})
	}
	if err != nil {
		err = p.keyed(err)
		p.ill("memory", nextOf(err), "it can't be opened: %s", err)
	}
}

// nextOf is what an error says to do.
func nextOf(err error) string {
	var e *cairn.Error
	if errors.As(err, &e) {
		return e.Next
	}
	return ""
}

func (a *app) diagnose(found []symptom) error {
	wrong := slices.ContainsFunc(found, func(s symptom) bool { return !s.OK })
	var err error
	if a.json {
		for _, s := range found {
			err = errors.Join(err, a.put(s))
		}
	} else {
		err = a.table(func(w io.Writer) {
			for _, s := range found {
				mark := "ok"
				if !s.OK {
					mark = "WRONG"
				}
				text := s.Text
				if s.Next != "" && !strings.HasSuffix(text, "("+s.Next+")") {
					text += " (" + s.Next + ")"
				}
				row(w, mark, s.Check, text)
			}
		})
	}
	if err == nil && wrong {
		err = status(ExitFailed)
	}
	return err
}

func checkFile(ctx context.Context, p *patient) error {
	problems, err := p.store.Check(ctx)
	if err != nil {
		return err
	}
	for _, problem := range problems {
		p.ill("database", "stop using the file; restore a copy, or recover with the sqlite3 command's .recover", "%s", problem)
	}
	if len(problems) == 0 {
		info, err := os.Stat(p.store.DB().Path())
		if err != nil {
			return &dbfile.Error{Code: dbfile.ErrIO, Path: p.store.DB().Path(), Op: "read", Err: err}
		}
		p.well("database", "%s is whole, %s", p.db(), size(info.Size()))
	}
	return nil
}

func checkLeases(ctx context.Context, p *patient) error {
	runs, err := p.store.Runs(ctx, engine.Query{Status: core.Running, Limit: math.MaxInt32})
	if err != nil {
		return err
	}
	lost, parked := 0, 0
	for _, info := range runs {
		switch {
		case driven(info):
			continue
		case info.Owner.Token == "": // stopped gracefully
			parked++
			continue
		}
		if lost++; lost > maxShown && !p.json {
			continue
		}
		why := fmt.Sprintf("its lease of process %d on %s has run out", info.Owner.PID, info.Owner.Host)
		if info.Owner.Dead() {
			why = fmt.Sprintf("process %d, which holds its lease, is gone", info.Owner.PID)
		}
		p.ill("leases", "go on with "+p.hint("resume", quote(info.ID)), "run %s is interrupted: %s", info.ID, why)
	}
	if lost > maxShown && !p.json {
		p.ill("leases", "see "+p.hint("ps", "--status", interrupted), "%d more", lost-maxShown)
	}
	if lost == 0 {
		p.well("leases", "%s driven by a live process, %d stopped and waiting for resume", count(len(runs)-parked, "run"), parked)
	}
	return nil
}

func checkRecalls(ctx context.Context, p *patient) error {
	runs, err := p.store.Runs(ctx, engine.Query{Limit: p.runs})
	if err != nil {
		return err
	}
	counts, total, degraded := map[cairn.RecallStatus]int{}, 0, 0
	for _, info := range runs {
		err := engine.ReadFrames(ctx, p.store, info.ID, 1, func(f *core.Frame, _ string) error {
			for i := range f.Events {
				for _, r := range f.Events[i].Recalls {
					total++
					if counts[r.Status]++; !r.Status.Degraded() {
						continue
					}
					if degraded++; degraded <= maxShown || p.json {
						p.ill("recalls", "see "+p.hint("events", quote(info.ID)), "run %s at %s: %s", info.ID, f.Events[i].Path, r)
					}
				}
			}
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.ill("recalls", nextOf(err), "run %s: %s", info.ID, err)
		}
	}
	if degraded > maxShown && !p.json {
		p.ill("recalls", "", "%d more", degraded-maxShown)
	}
	if degraded == 0 {
		text := count(total, "recall") + " in " + count(len(runs), "run")
		for _, s := range slices.Sorted(maps.Keys(counts)) {
			text += fmt.Sprintf(", %d %s", counts[s], s)
		}
		p.well("recalls", "%s", text)
	}
	return nil
}

func checkOutbox(ctx context.Context, p *patient) error {
	n, list, err := p.store.Queue(ctx, maxQueue)
	if err != nil {
		return err
	}
	if n == 0 {
		p.well("outbox", "empty")
		return nil
	}
	const next = "an engine that delivers them is one that runs: start or resume a run"
	var oldest time.Time
	seen, failing := map[string]bool{}, 0
	for _, q := range list {
		if q.Tries > 0 {
			if failing++; failing <= maxShown || p.json {
				p.ill("outbox", next, "effect %s of kind %s has failed %s: %s", q.ID, q.Kind, count(q.Tries, "time"), q.Why)
			}
		}
		if seen[q.Run] || q.Run == "" { // later ones of a run are younger
			continue
		}
		seen[q.Run] = true
		at, err := p.frameTime(ctx, q.Run, q.Frame)
		if err != nil {
			return err
		}
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	text := count(n, "effect") + " waiting"
	if !oldest.IsZero() {
		text += ", the first for " + span(max(0, time.Since(oldest).Milliseconds()))
	}
	if !oldest.IsZero() && time.Since(oldest) > tooOld {
		p.ill("outbox", next, "%s", text)
	} else {
		p.well("outbox", "%s", text)
	}
	return nil
}

// frameTime is when a frame was committed, zero if it is not there.
func (p *patient) frameTime(ctx context.Context, run string, n int64) (at time.Time, err error) {
	enough := errors.New("one frame is enough")
	err = engine.ReadFrames(ctx, p.store, run, n, func(f *core.Frame, _ string) error {
		at = time.UnixMilli(f.Time)
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return at, err
}

func checkMemory(ctx context.Context, p *patient) error {
	if p.memory == nil {
		if !slices.ContainsFunc(p.found, func(s symptom) bool { return s.Check == "memory" }) {
			p.well("memory", "nothing is remembered yet")
		}
		return nil
	}
	st, err := p.memory.Stats(ctx)
	if err != nil {
		return err
	}
	if st.Unsealed > 0 {
		p.ill("memory", "seal them with "+p.hint("memory", "rekey"), "%s not sealed with the current key", count(st.Unsealed, "row"))
		return nil
	}
	text := fmt.Sprintf("%s, %s, %s with %s", count(st.Facts, "fact"), count(st.Notes, "note"), count(st.Threads, "thread"), count(st.Messages, "message"))
	if st.Encrypted {
		text += ", encrypted"
	}
	p.well("memory", "%s", text)
	return nil
}

func checkProjections(ctx context.Context, p *patient) error {
	if p.memory == nil {
		return nil
	}
	list, err := p.memory.Projections(ctx)
	if err != nil {
		return err
	}
	var oldest time.Time
	waiting, dead := 0, 0
	for _, x := range list {
		if !x.Dead {
			if waiting++; oldest.IsZero() || x.Queued.Before(oldest) {
				oldest = x.Queued
			}
			continue
		}
		if dead++; dead <= maxShown || p.json {
			p.ill("projections", "then "+p.hint("memory", "outbox", "retry", quote(x.ID))+" or drop", "%s of document %s is dead after %s: %s",
				x.ID, x.Document, count(x.Tries, "attempt"), x.Why)
		}
	}
	if dead > maxShown && !p.json {
		p.ill("projections", "see "+p.hint("memory", "outbox", "ls", "--dead"), "%d more", dead-maxShown)
	}
	switch {
	case waiting == 0 && dead == 0:
		p.well("projections", "none waiting")
	case waiting > 0 && time.Since(oldest) > tooOld:
		p.ill("projections", "see that the remote backend answers", "%d waiting, the first for %s", waiting, span(time.Since(oldest).Milliseconds()))
	case waiting > 0:
		p.well("projections", "%d waiting, the first for %s", waiting, span(max(0, time.Since(oldest).Milliseconds())))
	}
	return nil
}

func checkIndex(ctx context.Context, p *patient) error {
	if p.memory == nil {
		return nil
	}
	st, err := p.memory.Stats(ctx)
	if err != nil {
		return err
	}
	items := st.Facts + st.Messages + st.Notes
	next := "make it anew with " + p.hint("memory", "gc", "--reindex")
	switch {
	case st.Encrypted:
		p.well("index", "%s", indexLine(st))
	case st.Index == 0:
		p.ill("index", next, "it was not finished: %s", indexLine(st))
	case st.Index != st.Rules:
		p.ill("index", next, "version %d, and this program searches by version %d", st.Index, st.Rules)
	case st.Indexed != items:
		p.ill("index", next, "version %d has %s for %s", st.Index, count(st.Indexed, "row"), count(items, "item"))
	default:
		p.well("index", "version %d, %s", st.Index, indexLine(st))
	}
	return nil
}

// checkRemote asks the remote backend how it is, if one is configured.
func checkRemote(ctx context.Context, p *patient) error {
	config, ok := hindsight.FromEnv()
	if !ok {
		p.well("remote", "$HINDSIGHT_URL is not set: memory is local")
		return nil
	}
	client, err := hindsight.New(config)
	if err != nil {
		p.ill("remote", "mend the environment", "%v", err)
		return nil
	}
	found := client.Doctor(ctx)
	for _, problem := range found.Problems {
		p.ill("remote", "see what it says itself", "%v", problem)
	}
	if len(found.Problems) == 0 {
		p.well("remote", "Hindsight %s answers, with %d banks", found.Version.API, len(found.Banks))
	}
	return nil
}
