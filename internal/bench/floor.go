package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver whose cost is the floor

	"github.com/cairnrun/cairn/engine/sqlite"
)

// floorOf inserts n rows of 100 bytes, one transaction each, by the bare driver.
func floorOf(s settings, n int) (took time.Duration, more string, err error) {
	mode := "FULL"
	if s.sync == sqlite.Normal {
		mode = "NORMAL"
	}
	dsn := "file:" + filepath.Join(s.dir, fmt.Sprintf("floor-%d.db", time.Now().UnixNano())) +
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(" + mode + ")&_pragma=busy_timeout(5000)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return 0, "", err
	}
	defer db.Close()
	conn, err := db.Conn(background)
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(background, "CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB)"); err != nil {
		return 0, "", err
	}
	insert, err := conn.PrepareContext(background, "INSERT INTO rows (body) VALUES (?)")
	if err != nil {
		return 0, "", err
	}
	defer insert.Close()
	body := make([]byte, 100)
	began := time.Now()
	for range n {
		tx, err := conn.BeginTx(background, nil)
		if err != nil {
			return 0, "", err
		}
		if _, err := tx.StmtContext(background, insert).Exec(body); err != nil {
			return 0, "", err
		}
		if err := tx.Commit(); err != nil {
			return 0, "", err
		}
	}
	return time.Since(began), "", nil
}
