package dbfile

import (
	"net/url"
	"strconv"
)

// walPages is where a commit also checkpoints (4 MiB). A small WAL is overwritten in place sooner, and an
// overwriting fsync is cheaper than one that grows the file: 4000 pages measured twice as slow per commit.
const walPages = 1000

// walKeep is the size a WAL, grown under a long Read, is cut back to.
const walKeep = 64 << 20

// writerDSN and the others carry every pragma, because one set by Exec reaches a single pooled connection.
func writerDSN(c Config) string {
	q := commonQuery(c)
	q.Set("mode", "rw") // creating is the business of claim, under its checks
	q.Set("_txlock", "immediate")
	q.Add("_pragma", "auto_vacuum(0)")
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "journal_size_limit("+strconv.Itoa(walKeep)+")")
	q.Add("_pragma", "wal_autocheckpoint("+strconv.Itoa(walPages)+")")
	if c.SecureDelete {
		q.Add("_pragma", "secure_delete(1)")
	}
	return dsn(c, q)
}

func readerDSN(c Config) string {
	q := commonQuery(c)
	q.Set("mode", "rw") // the WAL may need recovery, which a mode=ro connection can't do
	if c.ReadOnly {
		q.Set("mode", "ro")
	}
	q.Set("_txlock", "deferred")
	q.Set("_query_only", "1")
	return dsn(c, q)
}

// frozenDSN reads a file without locks or side files.
func frozenDSN(c Config) string {
	q := commonQuery(c)
	q.Set("mode", "ro")
	q.Set("immutable", "1")
	q.Set("_query_only", "1")
	return dsn(c, q)
}

// probeDSN reads the header through SQLite rather than os.Open: closing a descriptor of our own would drop
// every POSIX lock this process holds on the file, those of another open DB included. immutable keeps side
// files away; writable_schema lets a header pass that a checkpoint has half moved ahead of the file's size.
func probeDSN(c Config) string {
	q := url.Values{}
	q.Set("mode", "ro")
	q.Set("immutable", "1")
	q.Set("_pragma", "writable_schema(1)")
	return dsn(c, q)
}

// claimDSN sets no journal mode: the id has to be in the file before WAL is, see claim.
func claimDSN(c Config) string {
	q := url.Values{}
	q.Set("mode", "rwc")
	q.Set("_busy_timeout", busyMillis(c))
	q.Add("_pragma", "synchronous("+synchronous(c)+")")
	return dsn(c, q)
}

func commonQuery(c Config) url.Values {
	q := url.Values{}
	q.Set("_busy_timeout", busyMillis(c))
	q.Set("_dqs", "0")      // "colunm" is an error, not a string
	q.Set("_error_rc", "1") // no stale message of an earlier call
	q.Add("_pragma", "cache_size(-8000)")
	q.Add("_pragma", "foreign_keys(1)")
	q.Add("_pragma", "synchronous("+synchronous(c)+")")
	q.Add("_pragma", "temp_store(2)")
	return q
}

func dsn(c Config, q url.Values) string {
	return (&url.URL{Scheme: "file", Path: c.Path, RawQuery: q.Encode()}).String()
}

func busyMillis(c Config) string { return strconv.FormatInt(c.BusyTimeout.Milliseconds(), 10) }

func synchronous(c Config) string {
	if c.Synchronous == Normal {
		return "NORMAL"
	}
	return "FULL"
}
