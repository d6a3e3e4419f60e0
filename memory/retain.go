package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
)

// retain is the effect by which a task that has succeeded leaves a digest in its banks. It holds the result and nothing of
// what was recalled: a memory that repeats memories would drown in itself.
func (r *Runtime) retain(call *cairn.Call, spec cairn.MemorySpec, output json.RawMessage) (effects []cairn.Effect, err error) {
	for _, bank := range writeBanks(spec) {
		tags, err := WriteTags(bank, spec.Tags, nil, "run")
		if err != nil {
			return nil, err
		}
		saved := Saved{Bank: bank, Tags: tags, Text: digest(call.Path, output), Digest: true, Workflow: call.Workflow, Time: time.Now(),
			Origin: Origin{Run: call.Run, Path: call.Path, Attempt: call.Attempt}}
		body, err := json.Marshal(saved)
		if err != nil {
			return nil, fmt.Errorf("memory: the digest of %s: %w", call.Path, err)
		}
		effects = append(effects, cairn.Effect{Kind: RetainKind, Body: body})
	}
	return effects, nil
}

// digest is a task's result as a later reader needs it.
func digest(path string, output json.RawMessage) string {
	text := string(output)
	var s string
	if json.Unmarshal(output, &s) == nil {
		text = s
	}
	return grapheme.Cut(fmt.Sprintf("%s: %s", path, text), MaxDigest)
}

// Deliver takes what tasks leave out of the outbox: digests and turns. id is the effect's operation id: delivering twice keeps
// it once.
func (r *Runtime) Deliver(ctx context.Context, id, kind string, body json.RawMessage) error {
	var err error
	id = named(id)
	switch kind {
	case RetainKind:
		var s Saved
		if err = json.Unmarshal(body, &s); err == nil {
			s.ID = id
			return r.Store.Keep(ctx, s)
		}
	case AppendKind:
		var op Operation
		if err = json.Unmarshal(body, &op); err == nil {
			_, err = r.Store.Apply(ctx, id, op)
			return err
		}
	default:
		return fmt.Errorf("memory: %q is no kind of effect of memory", kind)
	}
	return fmt.Errorf("memory: effect %s of kind %s can't be read: %w", id, kind, err)
}

// Kinds are those of the effects that Deliver takes.
func (r *Runtime) Kinds() []string { return []string{RetainKind, AppendKind} }
