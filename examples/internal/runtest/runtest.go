// Package runtest runs examples under test as a program would: with a store and artifacts in a directory of their own. Example
// hello shows the same without it.
package runtest

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// Home is a directory with runs and artifacts, and an engine for them.
type Home struct {
	Runs   *sqlite.Store
	Files  *artifact.Dir
	Engine *engine.Engine
}

// Open makes what is not there yet in the directory. Of the Config, Store is not looked at, and Artifacts are the home's by default.
func Open(ctx context.Context, dir string, cfg engine.Config) (h *Home, err error) {
	h = &Home{}
	if h.Files, err = artifact.Open(filepath.Join(dir, "artifacts")); err != nil {
		return nil, err
	}
	if h.Runs, err = sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "cairn.db")}); err != nil {
		return nil, err
	}
	cfg.Store = h.Runs
	if cfg.Artifacts == nil {
		cfg.Artifacts = h.Files
	}
	if h.Engine, err = engine.Open(ctx, cfg); err != nil {
		_ = h.Runs.Close() // nothing was written
		return nil, err
	}
	return h, nil
}

// Close closes the engine and the store.
func (h *Home) Close() {
	_ = h.Engine.Close(context.Background()) // a run that has not ended can go on
	_ = h.Runs.Close()
}

// Perform runs a workflow to its end and decodes the result. A run that fails is the error. An id of "" is one of its own.
func Perform[In, Out any](ctx context.Context, h *Home, wf cairn.Workflow[In, Out], id string, in In) (out Out, err error) {
	outcome, err := h.Run(ctx, wf.Name, id, in)
	if err != nil {
		return out, err
	}
	if outcome.Failure != nil {
		return out, outcome.Failure
	}
	return out, json.Unmarshal(outcome.Result, &out)
}

// Run runs a workflow to its end, whatever that is.
func (h *Home) Run(ctx context.Context, workflow, id string, in any) (engine.Outcome, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return engine.Outcome{}, err
	}
	run, err := h.Engine.Start(ctx, workflow, raw, engine.StartOptions{ID: id})
	if err != nil {
		return engine.Outcome{}, err
	}
	return run.Wait(ctx)
}

// Text is what an artifact holds.
func (h *Home) Text(ctx context.Context, a cairn.Artifact) (string, error) {
	f, err := h.Files.Get(ctx, a.Hash)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}
