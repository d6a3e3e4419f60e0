// Package dbfile is one SQLite database file that several stores of one process share: one writer with
// group commit, a pool of readers, embedded migrations.
//
// SQLite has one writer at a time whatever a program does. When every store opens the file for itself, they
// meet as "database is locked", each with its own retry loop, and each pays its own fsync. Here they queue:
// whatever waits when the disk becomes free is committed in one transaction with one fsync, and each caller
// still gets an error of its own.
//
//	db, err := dbfile.Open(ctx, dbfile.Config{Path: "runs.db", ApplicationID: 0x63616972})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	if err := db.Migrate(ctx, "run", migrations); err != nil { // an fs.FS with 0001_init.sql, 0002_…
//		return err
//	}
//	err = db.Write(ctx, func(tx *dbfile.Tx) error {
//		_, err := tx.Exec("INSERT INTO runs (id) VALUES (?)", id)
//		return err
//	})
//
// # What holds
//
//   - Write returns nil only after COMMIT, which at [Full] has waited for the disk.
//   - A function given to Write runs at most once. Only BEGIN waits for other processes, and no function has
//     run by then, so nothing is ever tried again behind the caller's back.
//   - While the process lives an outcome is never in doubt: an error means that nothing of the function is
//     in the file.
//   - Read sees one snapshot from its first query to its last, and neither waits for writers nor holds them up.
//   - A file that belongs to somebody else is refused before a byte of it is written.
//
// # What is not safe
//
//   - Calling Write, Migrate or Close from inside a function given to Write: it waits for itself, for ever.
//     Read inside Write is fine and sees the state before the Write.
//   - Slow work inside Write. All stores of the file wait behind it; do the work first, then write.
//   - A long Read. While it runs the WAL can't be reset and grows.
//   - Keeping a Tx, ReadTx or Rows beyond its function (sql.ErrTxDone), or using one from two goroutines.
//   - Deferred foreign keys: they are checked by COMMIT, so one function's violation fails the whole batch.
//   - Network file systems, which is SQLite's own limit for WAL.
//   - After an I/O error from COMMIT, a power cut before the next successful Write may leave the failed batch
//     in the file: what the kernel did with the pages of a failed fsync can't be known.
//   - time.Time as an argument: the driver stores its String form. Store integers.
package dbfile
