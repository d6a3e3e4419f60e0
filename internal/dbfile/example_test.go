package dbfile_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// Usually an embed.FS.
var migrations = fstest.MapFS{"0001_init.sql": {Data: []byte("CREATE TABLE runs (id TEXT PRIMARY KEY, state TEXT NOT NULL);")}}

func Example() {
	dir, err := os.MkdirTemp("", "dbfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	db, err := dbfile.Open(ctx, dbfile.Config{Path: filepath.Join(dir, "runs.db"), ApplicationID: 0x63616972})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(ctx, "run", migrations); err != nil {
		log.Fatal(err)
	}
	err = db.Write(ctx, func(tx *dbfile.Tx) error {
		_, err := tx.Exec("INSERT INTO runs (id, state) VALUES (?, ?)", "r1", "running")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	var state string
	err = db.Read(ctx, func(tx *dbfile.ReadTx) error {
		return tx.QueryRow("SELECT state FROM runs WHERE id = ?", "r1").Scan(&state)
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state)
	// Output: running
}
