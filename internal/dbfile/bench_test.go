package dbfile_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// BenchmarkFloor is what the driver alone takes for one insert in one transaction, everything prepared.
func BenchmarkFloor(b *testing.B) {
	b.Run("full", func(b *testing.B) { floor(b, "FULL") })
	b.Run("normal", func(b *testing.B) { floor(b, "NORMAL") }) // without the disk's noise
}

func floor(b *testing.B, synchronous string) {
	path := filepath.Join(b.TempDir(), "a.db")
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous("+synchronous+")")
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(b.Context(), "CREATE TABLE items (id INTEGER PRIMARY KEY, body TEXT)"); err != nil {
		b.Fatal(err)
	}
	var prepared []*sql.Stmt
	for _, query := range []string{"BEGIN IMMEDIATE", "INSERT INTO items (body) VALUES ('a body of usual size')", "COMMIT"} {
		stmt, err := conn.PrepareContext(b.Context(), query)
		if err != nil {
			b.Fatal(err)
		}
		prepared = append(prepared, stmt)
	}
	for b.Loop() {
		for _, stmt := range prepared {
			if _, err := stmt.Exec(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchDB(b *testing.B, mode dbfile.Synchronous) (*dbfile.DB, func(*dbfile.Tx) error) {
	db := open(b, func(c *dbfile.Config) { c.Synchronous = mode })
	if err := db.Migrate(b.Context(), "plain", scripts("CREATE TABLE plain (id INTEGER PRIMARY KEY, body TEXT)")); err != nil {
		b.Fatal(err)
	}
	return db, func(tx *dbfile.Tx) error {
		_, err := tx.Exec("INSERT INTO plain (body) VALUES ('a body of usual size')")
		return err
	}
}

func BenchmarkWriteSequential(b *testing.B) {
	b.Run("full", func(b *testing.B) { sequential(b, dbfile.Full) })
	b.Run("normal", func(b *testing.B) { sequential(b, dbfile.Normal) })
}

func sequential(b *testing.B, mode dbfile.Synchronous) {
	db, fn := benchDB(b, mode)
	for b.Loop() {
		if err := db.Write(b.Context(), fn); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite64(b *testing.B) {
	db, fn := benchDB(b, dbfile.Full)
	before := db.Stats()
	b.SetParallelism(32) // times two cores
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := db.Write(b.Context(), fn); err != nil {
				b.Error(err)
				return
			}
		}
	})
	after := db.Stats()
	b.ReportMetric(float64(after.Writes-before.Writes)/float64(after.Commits-before.Commits), "writes/commit")
}

func BenchmarkRead(b *testing.B) {
	db, fn := benchDB(b, dbfile.Full)
	if err := db.Write(b.Context(), fn); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		err := db.Read(b.Context(), func(tx *dbfile.ReadTx) error {
			return tx.QueryRow("SELECT id FROM plain WHERE id = ?", 1).Scan(new(int))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
