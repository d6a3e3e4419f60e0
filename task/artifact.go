package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// WriteArtifact stores bulk as a file: what is too long for an output, which then carries the Artifact instead. It
// returns after the content is durable. The artifacts of an attempt are committed with its output, in the order in which
// they were written, each once; those of a failed attempt are not.
//
// Outside of a task it is an error.
func WriteArtifact(ctx context.Context, name, mediaType string, content io.Reader) (cairn.Artifact, error) {
	store, call, err := artifacts(ctx)
	if err == nil {
		err = cairn.CheckName(name)
	}
	if err == nil && content == nil {
		err = errors.New("there is no content")
	}
	if err != nil {
		return cairn.Artifact{}, fmt.Errorf("write artifact %q: %w", name, err)
	}
	out := cairn.Artifact{Name: name, MediaType: mediaType, Producer: call.Path}
	if out.Hash, out.Size, err = store.Put(ctx, content); err != nil {
		return cairn.Artifact{}, fmt.Errorf("write artifact %q: %w", name, err)
	}
	p, ok := placeFrom(ctx)
	if !ok { // a test that calls a body under a Call of its own
		return out, nil
	}
	err = p.add(func() {
		p.record.Artifacts = append(p.record.Artifacts, out)
		// The file is there, whatever becomes of the step that wrote it.
		if body := p.attempt.body; p != body {
			body.record.Artifacts = append(body.record.Artifacts, out)
		}
	})
	if err != nil {
		return cairn.Artifact{}, fmt.Errorf("write artifact %q: %w", name, err)
	}
	return out, nil
}

// ReadArtifact opens a stored file. The reader verifies the content: a damaged file is an error of Read before its
// end. The caller closes it.
//
// Outside of a task it is an error.
func ReadArtifact(ctx context.Context, a cairn.Artifact) (io.ReadCloser, error) {
	store, _, err := artifacts(ctx)
	if err == nil && a.Hash == "" {
		err = errors.New("it has no hash")
	}
	if err != nil {
		return nil, fmt.Errorf("read artifact %q: %w", a.Name, err)
	}
	r, err := store.Get(ctx, a.Hash)
	if err != nil {
		return nil, fmt.Errorf("read artifact %q: %w", a.Name, err)
	}
	return r, nil
}

// Written lists the artifacts that were written in the step that the context is in, or in the whole body, by name and then
// hash, each once. Those of finished steps that an earlier attempt has done are among them, as soon as this attempt has come to
// the step. So what wraps an agent learns which artifacts the agent's tools have written, whether they were called now or
// before a kill:
//
//	resp, err := agent.Run(ctx, req)
//	…
//	files, err := task.Written(ctx)
//
// Outside of a task it is empty.
func Written(ctx context.Context) ([]cairn.Artifact, error) {
	p, ok := placeFrom(ctx)
	if !ok {
		return nil, nil
	}
	var all []cairn.Artifact
	var steps []string
	if err := p.add(func() { all, steps = slices.Clone(p.record.Artifacts), slices.Clone(p.record.Steps) }); err != nil {
		return nil, err
	}
	call, _ := cairn.CallFrom(ctx)
	for i := 0; i < len(steps); i++ { // the list grows on the way
		raw, ok := call.Journal.Lookup(steps[i])
		var rec record
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, &rec); err != nil {
			return nil, Permanent(fmt.Errorf("the record of step %q can't be read: %w", steps[i], err))
		}
		all, steps = append(all, rec.Artifacts...), append(steps, rec.Steps...)
	}
	slices.SortFunc(all, func(a, b cairn.Artifact) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Hash, b.Hash))
	})
	return slices.CompactFunc(all, func(a, b cairn.Artifact) bool { return a.Name == b.Name && a.Hash == b.Hash }), nil
}

func artifacts(ctx context.Context) (cairn.Artifacts, *cairn.Call, error) {
	call, ok := cairn.CallFrom(ctx)
	switch {
	case !ok:
		return nil, nil, errNoAttempt
	case call.Artifacts == nil:
		return nil, nil, errors.New("the engine that runs this task has no store for artifacts")
	}
	return call.Artifacts, call, nil
}
