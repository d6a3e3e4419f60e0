package cli

import (
	"context"
	"encoding/json"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// conversations reads those that the agents of a run have held, by the path of the task: of the task at a path, or of all for
// "". Tasks without any are left out.
func conversations(ctx context.Context, store *sqlite.Store, run, path string) (map[string][]loop.Held, error) {
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
	all := map[string][]loop.Held{}
	for path, journal := range journals {
		held, err := loop.Read(journal)
		if err != nil {
			return nil, &cairn.Error{Code: cairn.CodeOf(err, BadJournal), Run: run, Path: path, Message: "the task's conversations can't be read", Err: err,
				Next: "use the version of the program that has written them"}
		}
		if len(held) > 0 {
			all[path] = held
		}
	}
	return all, nil
}
