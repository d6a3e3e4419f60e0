package task

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// MaxDetail is the most bytes of JSON that a heartbeat may carry.
const MaxDetail = 1_000_000

// Heartbeat tells that the attempt lives, and what the next one should know, should this one die: how far it got. It
// does not wait for the disk, so the very last details may be lost; use Step for what must not be. A nil detail leaves
// the one before as it is.
//
// Once the attempt has been told to stop, Heartbeat still passes the detail on and returns why, so a loop that beats
// need not look at its context. Outside of a task it only checks the detail.
func Heartbeat(ctx context.Context, detail any) error {
	raw, err := schema.Encode(detail)
	if err != nil {
		return Permanent(fmt.Errorf("heartbeat: %w", err))
	}
	if len(raw) > MaxDetail {
		return Permanent(fmt.Errorf("heartbeat: the detail has %d bytes, more than %d: write an artifact and hand on its reference", len(raw), MaxDetail))
	}
	if p, ok := placeFrom(ctx); ok {
		if err := p.open(); err != nil {
			return fmt.Errorf("heartbeat: %w", err)
		}
	}
	if call, ok := cairn.CallFrom(ctx); ok && call.Journal != nil {
		if string(raw) == "null" {
			raw = nil
		}
		call.Journal.Heartbeat(raw)
	}
	return context.Cause(ctx)
}

// LastHeartbeat is the last detail of an earlier attempt. It is false if there is none, if it can't be read as T, and
// outside of a task: the body starts over.
func LastHeartbeat[T any](ctx context.Context) (T, bool) {
	var detail, none T
	call, ok := cairn.CallFrom(ctx)
	if !ok || call.Detail == nil {
		return none, false
	}
	if err := json.Unmarshal(call.Detail, &detail); err != nil {
		return none, false
	}
	return detail, true
}
