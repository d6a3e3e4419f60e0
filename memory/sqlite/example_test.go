package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// A rule replaces another once it is accepted, and is found by whoever asks its bank.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "memory.db")})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	review := memory.Namespace{Kind: memory.WorkflowKind, ID: "code-review"}
	place := memory.Place{Namespace: review, Bank: "project-x"}
	_, err = store.SetFact(ctx, memory.Fact{Place: place, Key: "runs", Value: json.RawMessage("1")})
	if err != nil {
		panic(err)
	}
	store.SaveNote(ctx, memory.Note{Place: place, ID: "npm", Body: "Test with npm test."})
	store.SaveNote(ctx, memory.Note{Place: place, ID: "bun", Body: "Test with bun test.", Status: memory.Proposed, Supersedes: []string{"npm"}})
	for _, status := range []memory.Status{memory.Proposed, memory.Accepted, memory.Rejected} {
		if _, err := store.SetStatus(ctx, review, "bun", status); err != nil {
			panic(err)
		}
		found, err := store.Candidates(ctx, memory.Scope{Bank: "project-x"}, []string{"test"}, 10)
		if err != nil {
			panic(err)
		}
		fmt.Println(status, found[0].Text)
	}
	// Output:
	// proposed Test with npm test.
	// accepted Test with bun test.
	// rejected Test with npm test.
}
