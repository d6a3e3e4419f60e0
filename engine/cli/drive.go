package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// session is an engine over the command's database, for as long as one run is driven here.
type session struct {
	*app
	store    *sqlite.Store
	engine   *engine.Engine
	progress *progress
}

// session opens an engine for the length of fn.
func (a *app) session(ctx context.Context, quiet bool, fn func(s *session) error) error {
	return a.writing(ctx, func(store *sqlite.Store) error {
		files, err := a.files()
		if err != nil {
			return err
		}
		remembers, err := a.remember(ctx, store)
		if err != nil {
			return err
		}
		s := &session{app: a, store: store, progress: a.progress(quiet)}
		s.progress.start()
		defer s.progress.close()
		s.engine, err = engine.Open(context.WithoutCancel(ctx), engine.Config{
			Store: store, Workflows: a.definers, Artifacts: files, Observe: s.progress.frame,
			Middleware: []engine.Middleware{remembers.Middleware}, Deliver: remembers.deliveries(),
		})
		if err != nil {
			return errors.Join(err, remembers.close(context.WithoutCancel(ctx)))
		}
		err = fn(s)
		return errors.Join(err, s.engine.Close(context.WithoutCancel(ctx)), remembers.close(context.WithoutCancel(ctx)))
	})
}

// seen shows the progress what happened before, silently, so that it can tell what is lost.
func (s *session) seen(ctx context.Context, id string) error {
	return engine.ReadFrames(ctx, s.store, id, 1, func(f *core.Frame, _ string) error {
		s.progress.projector.project(f)
		return nil
	})
}

// wait returns when the run has ended or parked. When ctx ends first it stops gracefully, and the error says how to
// go on.
func (s *session) wait(ctx context.Context, run *engine.Run) (engine.Outcome, error) {
	select {
	case <-run.Done():
	case <-ctx.Done():
		if !s.json {
			s.progress.note("stopping: what runs is told to stop and waited for; interrupt again to stop at once")
		}
		if err := s.engine.Close(context.WithoutCancel(ctx)); err != nil {
			return engine.Outcome{}, err
		}
	}
	outcome, err := run.Wait(context.WithoutCancel(ctx))
	s.progress.close()
	if errors.Is(err, engine.Closing) {
		err = &cairn.Error{Code: Interrupted, Run: run.ID(), Message: "stopped before the end, and nothing is lost",
			Next: "go on with " + s.hint("resume", quote(run.ID()))}
	}
	return outcome, err
}

// finish shows where a run has come to. A finished one gives its result on stdout, all others a line on stderr; with
// --json all give the outcome on stdout.
func (a *app) finish(o engine.Outcome) error {
	code := exitOfRun(o.Status)
	if a.json {
		return errors.Join(a.put(o), exit(code))
	}
	id := quote(o.Run)
	switch o.Status {
	case core.Finished:
		_, err := fmt.Fprintf(a.out, "%s\n", o.Result)
		return errors.Join(err, exit(code))
	case core.Paused:
		fmt.Fprintf(a.err, "cairn: run %s is paused; go on with %s\n", o.Run, a.hint("resume", id))
	case core.Blocked:
		fmt.Fprintf(a.err, "cairn: %s; see %s, then go on with %s\n", a.ended(o), a.hint("inspect", id), a.hint("resume", id))
	default:
		if (engine.RunInfo{Status: o.Status, Failure: o.Failure}).Reopens() {
			fmt.Fprintf(a.err, "cairn: %s; see %s, then %s\n", a.ended(o), a.hint("inspect", id), a.raise(o.Run))
			break
		}
		fmt.Fprintf(a.err, "cairn: %s; see %s\n", a.ended(o), a.hint("inspect", id))
	}
	return exit(code)
}

// ended is what stopped a run, in one line.
func (a *app) ended(o engine.Outcome) string {
	f := o.Failure
	if f == nil {
		return fmt.Sprintf("run %s is %s", o.Run, o.Status)
	}
	e := cairn.Error{Code: f.Code, Run: o.Run, Path: f.Path, Message: briefMessage(f)}
	if e.Message == string(f.Code) {
		e.Message = ""
	}
	return e.Error()
}

// exit is the error of an exit code; finished has none.
func exit(code int) error {
	if code == ExitFinished {
		return nil
	}
	return status(code)
}
