package hello_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/examples/hello"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "hello")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "cairn.db")})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	e, err := engine.Open(ctx, engine.Config{Store: store, Workflows: []cairn.Definer{hello.Workflow}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close(ctx)

	run, err := e.Start(ctx, "hello", json.RawMessage(`{"name":"cairn"}`), engine.StartOptions{})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := run.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Status, string(outcome.Result))
	// Output: finished "HELLO, CAIRN!"
}
