package calltest

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
)

// Journal is a cairn.Journal in memory that outlives attempts. The zero value is empty. It is safe for concurrent use.
type Journal struct {
	mu sync.Mutex // guards Records
	// Records are the records by name, to be looked at and changed between attempts.
	Records map[string]json.RawMessage
}

// Lookup finds a record.
func (j *Journal) Lookup(name string) (json.RawMessage, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	raw, ok := j.Records[name]
	return raw, ok
}

// Record keeps a record.
func (j *Journal) Record(_ context.Context, name string, value json.RawMessage) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Records == nil {
		j.Records = map[string]json.RawMessage{}
	}
	j.Records[name] = bytes.Clone(value)
	return nil
}

// Heartbeat does nothing.
func (*Journal) Heartbeat(json.RawMessage) {}
