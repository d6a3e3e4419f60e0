package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

const defaultDB = ".cairn/cairn.db"

// db is the database file: the flag, the environment, or the default.
func (a *app) db() string {
	if a.path != "" {
		return a.path
	}
	if path := os.Getenv("CAIRN_DB"); path != "" {
		return path
	}
	return filepath.FromSlash(defaultDB)
}

// files is the directory of artifacts, beside the database. Opening it creates nothing.
func (a *app) files() (*artifact.Dir, error) {
	return artifact.Open(filepath.Join(filepath.Dir(a.db()), "artifacts"))
}

// hasDB says whether the database file is there.
func (a *app) hasDB() bool {
	_, err := os.Stat(a.db())
	return !errors.Is(err, fs.ErrNotExist)
}

// reading opens the store to look at it, for the length of fn. It creates nothing.
func (a *app) reading(ctx context.Context, fn func(store *sqlite.Store) error) error {
	if !a.hasDB() {
		return &cairn.Error{Code: NoDatabase, Message: fmt.Sprintf("there is no database at %s", a.db()),
			Next: fmt.Sprintf("start a run with %s up, or name another file with --db", a.name)}
	}
	return a.open(ctx, true, fn)
}

// writing opens the store, or creates it, for the length of fn. What can be refused was refused before.
func (a *app) writing(ctx context.Context, fn func(store *sqlite.Store) error) error {
	return a.open(ctx, false, fn)
}

func (a *app) open(ctx context.Context, readOnly bool, fn func(store *sqlite.Store) error) error {
	store, err := sqlite.Open(ctx, sqlite.Config{Path: a.db(), ReadOnly: readOnly})
	if err != nil {
		return err
	}
	return errors.Join(fn(store), store.Close())
}

// known looks a run up, without writing.
func (a *app) known(ctx context.Context, id string) (info engine.RunInfo, err error) {
	err = a.reading(ctx, func(store *sqlite.Store) error {
		info, err = store.Run(ctx, id)
		return err
	})
	return info, a.unknownRun(id, err)
}

// unknownRun says how to find the run that was meant.
func (a *app) unknownRun(id string, err error) error {
	if errors.Is(err, engine.RunNotFound) {
		return &cairn.Error{Code: engine.RunNotFound, Run: id, Message: "there is no such run in " + a.db(), Next: "see " + a.hint("ps")}
	}
	return err
}

// unfinished looks up a run, or its last successor, that has not ended, without writing.
func (a *app) unfinished(ctx context.Context, id string) (engine.RunInfo, error) {
	info, err := a.last(ctx, id)
	if err == nil && info.Status.Terminal() {
		err = a.hasEnded(info)
	}
	return info, err
}

func (a *app) hasEnded(info engine.RunInfo) error {
	if info.Reopens() {
		return &cairn.Error{Code: engine.RunEnded, Run: info.ID, Message: "a budget has stopped the run", Next: a.raise(info.ID)}
	}
	return &cairn.Error{Code: engine.RunEnded, Run: info.ID, Message: fmt.Sprintf("the run is %s, which is final", info.Status),
		Next: fmt.Sprintf("look at it with %s, or start another run", a.hint("inspect", quote(info.ID)))}
}

// workflow finds a registered workflow.
func (a *app) workflow(name string) (cairn.Definition, error) { return engine.Find(a.defs, name) }

// driven says that a live process has the run, as far as this one can know.
func driven(info engine.RunInfo) bool {
	return info.Owner.Token != "" && info.Until.After(time.Now()) && !info.Owner.Dead()
}

// interrupted is shown of a run that should be running, and that nobody drives.
const interrupted = "interrupted"

// standing is a run's status as people need it.
func standing(info engine.RunInfo) string {
	if info.Status == core.Running && !driven(info) {
		return interrupted
	}
	return string(info.Status)
}
