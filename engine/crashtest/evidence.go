package crashtest

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// Place is where a run leaves its traces.
type Place struct{ DB, Artifacts, Log string }

// PlaceIn puts everything into one folder.
func PlaceIn(dir string) Place {
	return Place{DB: filepath.Join(dir, "cairn.db"), Artifacts: filepath.Join(dir, "artifacts"), Log: filepath.Join(dir, "effects.log")}
}

// Evidence is all that a run has left behind.
type Evidence struct {
	Run string
	// Integrity is what PRAGMA integrity_check said.
	Integrity []string
	// Missing: there is no such run. Then Info, Frames and Entries are empty.
	Missing bool
	Info    engine.RunInfo
	Frames  [][]byte
	Entries []engine.Entry
	// Outbox holds the operation ids of effects that are still to be delivered.
	Outbox []string
	Log    []Line
	// Fragments are log lines that a kill has cut off.
	Fragments int
	// Piped is the number of the last frame that was acknowledged to the parent, Begun that Start or Resume was.
	Piped int64
	Begun bool
	// Export is the run as Export writes it, with its successors, for Final; Exported is how many frames are in it.
	Export   []byte
	Exported int64
	// Heirs are the runs that have this one as the one before. Taken is the last inbox item that the runs before have taken.
	Heirs []string
	Taken int64
}

// Open opens the file for the store and for SQL. Its clock may be ahead of time.
func (p Place) Open(ctx context.Context, ahead time.Duration) (*sqlite.Store, *dbfile.DB, error) {
	db, err := dbfile.Open(ctx, dbfile.Config{Path: p.DB, ApplicationID: sqlite.ApplicationID, Synchronous: dbfile.Normal})
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlite.New(ctx, db, func() time.Time { return time.Now().Add(ahead) })
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return store, db, nil
}

// Gather reads what a run has left. Nothing may be driving it.
func Gather(ctx context.Context, p Place, run string, final bool) (ev *Evidence, err error) {
	ev = &Evidence{Run: run}
	store, db, err := p.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := ev.sql(ctx, db); err != nil {
		return nil, err
	}
	if ev.Log, ev.Fragments, err = ReadLog(p.Log, run); err != nil {
		return nil, err
	}
	ev.Info, err = store.Run(ctx, run)
	if errors.Is(err, engine.RunNotFound) {
		ev.Missing = true
		return ev, nil
	}
	if err != nil {
		return nil, err
	}
	err = store.Frames(ctx, run, 1, func(_ int64, body []byte) error {
		ev.Frames = append(ev.Frames, body)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if ev.Entries, err = store.Entries(ctx, run, ""); err != nil {
		return nil, err
	}
	if ev.Heirs, err = heirs(ctx, store, run); err != nil || !final {
		return ev, err
	}
	for info := ev.Info; ; {
		ev.Exported += info.Head
		if info.Successor == "" {
			break
		}
		if info, err = store.Run(ctx, info.Successor); err != nil {
			return nil, err
		}
	}
	files, err := artifact.Open(p.Artifacts)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = engine.Export(ctx, store, files, run, &out)
	ev.Export = out.Bytes()
	return ev, err
}

// sql reads what the store does not show.
func (ev *Evidence) sql(ctx context.Context, db *dbfile.DB) error {
	read := func(into *[]string, query string, args ...any) error {
		return db.Read(ctx, func(tx *dbfile.ReadTx) error {
			rows, err := tx.Query(query, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					return err
				}
				*into = append(*into, text)
			}
			return rows.Err()
		})
	}
	return errors.Join(
		read(&ev.Integrity, "PRAGMA integrity_check"),
		read(&ev.Outbox, "SELECT o.id FROM outbox o JOIN runs r ON r.no = o.run WHERE ? IN ('', r.id) ORDER BY o.id", ev.Run),
	)
}

// Drain delivers what is left in the outbox, of all runs. A courier that was killed hides what it had taken for a minute,
// so the clock is set ahead; and it must be all, because a courier that is closed hides the rest of its batch, too.
func Drain(ctx context.Context, p Place, w *World) (err error) {
	store, db, err := p.Open(ctx, 10*time.Minute)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var left Evidence
	if err := left.sql(ctx, db); err != nil || len(left.Outbox) == 0 {
		return err
	}
	took := make(chan struct{}, len(left.Outbox))
	deliver := w.Deliver()
	for kind, do := range deliver {
		deliver[kind] = func(ctx context.Context, d engine.Delivery) error {
			defer func() { took <- struct{}{} }()
			return do(ctx, d)
		}
	}
	e, err := engine.Open(ctx, engine.Config{Store: store, Deliver: deliver})
	if err != nil {
		return err
	}
	for range left.Outbox {
		<-took
	}
	return e.Close(context.WithoutCancel(ctx))
}
