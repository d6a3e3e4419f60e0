package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// talk is what a task of a run has said with models.
type talk struct {
	path string
	held []loop.Held
}

// talks reads the conversations of a path, or of the whole run for "", in the order of the paths.
func talks(ctx context.Context, store *sqlite.Store, run, path string) ([]talk, error) {
	entries, err := store.Entries(ctx, run, path)
	if err != nil {
		return nil, err
	}
	journals := map[string]map[string]json.RawMessage{}
	for _, e := range entries {
		if journals[e.Path] == nil {
			journals[e.Path] = map[string]json.RawMessage{}
		}
		journals[e.Path][e.Name] = e.Value
	}
	var list []talk
	for _, path := range slices.SortedFunc(maps.Keys(journals), naturally) {
		held, err := loop.Read(journals[path])
		if err != nil {
			return nil, err
		}
		if len(held) > 0 {
			list = append(list, talk{path, held})
		}
	}
	return list, nil
}
