package dbfile_test

import (
	"bufio"
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"

	"modernc.org/sqlite"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// roles are what a second process, this test binary run again, can do with a file.
var roles = map[string]func(db *dbfile.DB) error{
	"openclose": func(*dbfile.DB) error { return nil },
	"write100":  func(db *dbfile.DB) error { return writeMany(db, "child", 4, 25) },
	"endless": func(db *dbfile.DB) error {
		var wg sync.WaitGroup
		var mu sync.Mutex // one line at a time
		for g := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					body := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)
					if err := db.Write(context.Background(), insert(body)); err != nil {
						fmt.Println("ERROR", err)
						return
					}
					mu.Lock()
					fmt.Println(body)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		return nil
	},
	"migrate": func(db *dbfile.DB) error { return db.Migrate(context.Background(), "run", laterSchema("SELECT 1;")) },
	"diemigrating": func(db *dbfile.DB) error {
		sqlite.MustRegisterScalarFunction("die", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return nil, err
			}
			return nil, self.Kill()
		})
		again, err := dbfile.Open(context.Background(), dbfile.Config{Path: db.Path(), ApplicationID: testID})
		if err != nil {
			return err
		}
		return again.Migrate(context.Background(), "run", laterSchema("SELECT die();"))
	},
}

// laterSchema adds two migrations to itemsSchema; the second runs extra in its middle.
func laterSchema(extra string) fstest.MapFS {
	return fstest.MapFS{
		"0001_items.sql": itemsSchema["0001_items.sql"],
		"0002_more.sql":  {Data: []byte("ALTER TABLE items ADD COLUMN more TEXT;")},
		"0003_most.sql": {Data: []byte("CREATE TABLE most (id INTEGER PRIMARY KEY); INSERT INTO items (body) VALUES ('three');" +
			extra + "CREATE INDEX items_more ON items (more);")},
	}
}

func TestMain(m *testing.M) {
	role, path := os.Getenv("DBFILE_TEST_ROLE"), os.Getenv("DBFILE_TEST_PATH")
	if role == "" {
		os.Exit(m.Run())
	}
	db, err := dbfile.Open(context.Background(), dbfile.Config{Path: path, ApplicationID: testID})
	if err == nil {
		err = roles[role](db)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		fmt.Println("ERROR", err)
		os.Exit(1)
	}
}

type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func child(t *testing.T, role, path string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DBFILE_TEST_ROLE="+role, "DBFILE_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd: cmd, lines: bufio.NewScanner(out)}
}

func (p *process) wait(t *testing.T) {
	t.Helper()
	for p.lines.Scan() {
		t.Errorf("child: %s", p.lines.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// writeMany writes count rows from each of goroutines and reads between them.
func writeMany(db *dbfile.DB, who string, goroutines, count int) error {
	errs := make(chan error, goroutines)
	for g := range goroutines {
		go func() {
			errs <- func() error {
				for i := range count {
					if err := db.Write(context.Background(), insert(fmt.Sprintf("%s-%d-%d", who, g, i))); err != nil {
						return err
					}
					err := db.Read(context.Background(), func(tx *dbfile.ReadTx) error {
						var first, second int
						if err := tx.QueryRow("SELECT count(*) FROM items").Scan(&first); err != nil {
							return err
						}
						if err := tx.QueryRow("SELECT max(id) FROM items").Scan(&second); err != nil || first != second {
							return fmt.Errorf("snapshot moved: %d rows, then %d (%w)", first, second, err)
						}
						return nil
					})
					if err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range goroutines {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func TestProcessesShareAFile(t *testing.T) {
	t.Parallel()
	db := open(t)
	second, err := dbfile.Open(t.Context(), dbfile.Config{Path: db.Path(), ApplicationID: testID})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	one, two := child(t, "write100", db.Path()), child(t, "endless", db.Path())
	done := make(chan error, 2)
	go func() { done <- writeMany(db, "first", 4, 50) }()
	go func() { done <- writeMany(second, "second", 4, 50) }()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	one.wait(t)
	for range 50 {
		if !two.lines.Scan() {
			t.Fatal("the endless child has ended")
		}
	}
	two.kill(t)
	var n int
	err = db.Read(t.Context(), func(tx *dbfile.ReadTx) error {
		return tx.QueryRow("SELECT count(*) FROM items WHERE body LIKE 'first-%' OR body LIKE 'second-%' OR body LIKE 'child-%'").Scan(&n)
	})
	if err != nil || n != 500 {
		t.Errorf("%d rows of 500, %v", n, err)
	}
}

func TestProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/a.db"
	var children []*process
	for range 4 {
		children = append(children, child(t, "migrate", path)) // each also creates the file
	}
	for _, p := range children {
		p.wait(t)
	}
	db, err := dbfile.Open(t.Context(), dbfile.Config{Path: path, ApplicationID: testID})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := state(t, db); got != "version 3, 1 rows, tables items most schema_version" {
		t.Fatal(got)
	}
}

func state(t *testing.T, db *dbfile.DB) string {
	t.Helper()
	var version, rows int
	var tables string
	err := db.Read(t.Context(), func(tx *dbfile.ReadTx) error {
		return tx.QueryRow("SELECT version, (SELECT count(*) FROM items), (SELECT group_concat(name, ' ' ORDER BY name) FROM sqlite_schema "+
			"WHERE type = 'table') FROM schema_version").Scan(&version, &rows, &tables)
	})
	if err != nil {
		t.Fatal(err)
	}
	return "version " + strconv.Itoa(version) + ", " + strconv.Itoa(rows) + " rows, tables " + tables
}
