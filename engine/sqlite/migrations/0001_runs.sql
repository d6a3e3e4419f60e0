-- The run store. Moments are Unix milliseconds. What a commit touches is one page of runs and one of frames, and no
-- index: head, hash, updated, lease_until and consumed are in none.

-- A run as the catalog knows it; its input is in frame 1. The columns a commit changes stand before the ones that may
-- be long.
CREATE TABLE runs (
	no          INTEGER PRIMARY KEY,
	id          TEXT    NOT NULL UNIQUE,
	workflow    TEXT    NOT NULL,
	version     TEXT    NOT NULL,
	status      TEXT    NOT NULL,
	created     INTEGER NOT NULL,
	updated     INTEGER NOT NULL,
	head        INTEGER NOT NULL, -- number and hash of the last frame
	hash        TEXT    NOT NULL,
	consumed    INTEGER NOT NULL, -- the last inbox item taken by a frame
	epoch       INTEGER NOT NULL, -- counts claims
	lease_until INTEGER NOT NULL,
	owner       TEXT    NOT NULL, -- '' is nobody
	host        TEXT    NOT NULL,
	pid         INTEGER NOT NULL,
	started     TEXT    NOT NULL,
	generation  INTEGER NOT NULL, -- counts the runs of a chain, from 1
	parent      TEXT    NOT NULL, -- '' is none
	successor   TEXT    NOT NULL, -- '' is none
	result      BLOB,
	failure     BLOB
) STRICT;

-- For the runs of a status, newest first: recovery asks for the running ones all the time.
CREATE INDEX runs_status ON runs (status);

-- id is no << 32 | n: a run's frames lie side by side, an append goes to the end of its run, and a resume is one range.
CREATE TABLE frames (
	id   INTEGER PRIMARY KEY,
	body BLOB NOT NULL
) STRICT;

-- Only what is unread, so that asking for it costs nothing when there is nothing. id is no << 32 | seq.
CREATE TABLE inbox (
	id     INTEGER PRIMARY KEY,
	dedupe TEXT NOT NULL,
	event  BLOB NOT NULL
) STRICT;

-- Dedupe keys outlive their items: they hold for the life of the run.
CREATE TABLE seen (
	run    INTEGER NOT NULL,
	dedupe TEXT    NOT NULL,
	seq    INTEGER NOT NULL,
	PRIMARY KEY (run, dedupe)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
	run     INTEGER NOT NULL,
	path    TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	attempt INTEGER NOT NULL,
	value   BLOB    NOT NULL,
	PRIMARY KEY (run, path, name)
) STRICT, WITHOUT ROWID;

-- Undelivered effects. There is no index on due: the table is short, and an index would cost each commit with an
-- effect a page. body comes last, so that looking for what is due does not read it.
CREATE TABLE outbox (
	id    TEXT    NOT NULL PRIMARY KEY,
	run   INTEGER NOT NULL,
	frame INTEGER NOT NULL, -- which frame decided it, and at which place: effects of a run are delivered in order
	place INTEGER NOT NULL,
	due   INTEGER NOT NULL,
	tries INTEGER NOT NULL,
	why   TEXT    NOT NULL,
	path  TEXT    NOT NULL,
	kind  TEXT    NOT NULL,
	body  BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- Outputs that other tasks may use, by the hash of what they depend on. output comes last, so that listing and evicting do
-- not read it.
CREATE TABLE cache (
	key       TEXT    NOT NULL UNIQUE,
	used      INTEGER NOT NULL, -- the last use, kept to minutes: a use must not cost a page each time
	created   INTEGER NOT NULL,
	expires   INTEGER NOT NULL, -- 0 is never
	bytes     INTEGER NOT NULL,
	workflow  TEXT    NOT NULL,
	run       TEXT    NOT NULL,
	path      TEXT    NOT NULL,
	scope     TEXT    NOT NULL,
	identity  TEXT    NOT NULL,
	schema    TEXT    NOT NULL,
	artifacts BLOB    NOT NULL,
	output    BLOB    NOT NULL
) STRICT;

-- What was unused for longest is evicted first.
CREATE INDEX cache_used ON cache (used);

-- Keys whose entries are being made.
CREATE TABLE cache_holds (
	key   TEXT    NOT NULL PRIMARY KEY,
	owner TEXT    NOT NULL,
	until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row, from the first entry on: what all entries take, so that a write knows without counting.
CREATE TABLE cache_total (
	no      INTEGER PRIMARY KEY,
	entries INTEGER NOT NULL,
	bytes   INTEGER NOT NULL
) STRICT;
