-- Memory: facts, threads with their messages, and notes. Times are milliseconds since 1970 in UTC; the largest integer
-- is "never" and the smallest "ever". Names are compared byte by byte.

CREATE TABLE mem_meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE mem_spaces (
  no   INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('workflow', 'agent', 'user', 'global')),
  id   TEXT NOT NULL CHECK (octet_length(id) BETWEEN 1 AND 256),
  high INTEGER NOT NULL DEFAULT 0, -- the highest version among facts of which no row is left
  UNIQUE (kind, id)
) STRICT;

-- All lanes in one table: they share their place, their life and their index.
CREATE TABLE mem_items (
  no         INTEGER PRIMARY KEY AUTOINCREMENT, -- also the row of mem_fts; never given twice, so that a page can end at one
  lane       TEXT    NOT NULL CHECK (lane IN ('fact', 'thread', 'message', 'note')),
  space      INTEGER NOT NULL REFERENCES mem_spaces (no),
  thread     INTEGER NOT NULL DEFAULT 0, -- a message's, whose bank and tags it has
  name       TEXT    NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 256),
  bank       TEXT    NOT NULL CHECK (octet_length(bank) <= 256),
  seal       TEXT    NOT NULL, -- the id of the key that title, body and data are encrypted with, or ''
  title      BLOB    NOT NULL CHECK (length(title) <= 2048),
  body       BLOB    NOT NULL CHECK (length(body) <= 1048576 + 64), -- 64 for a nonce and a tag
  data       BLOB    NOT NULL CHECK (length(data) <= 1048576 + 64),
  hash       BLOB    NOT NULL, -- of title and body
  slot       BLOB, -- of all of a note's content, as long as no equal note is wanted
  version    INTEGER NOT NULL, -- a fact's
  at         INTEGER NOT NULL, -- what time it is about
  created    INTEGER NOT NULL,
  changed    INTEGER NOT NULL,
  expires    INTEGER NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to   INTEGER NOT NULL CHECK (valid_to > valid_from OR lane = 'note'), -- a note may be retired before it is valid
  run        TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  attempt    INTEGER NOT NULL,
  type       TEXT    NOT NULL, -- a note's type, a message's role
  status     TEXT    NOT NULL CHECK (status IN ('', 'proposed', 'accepted', 'rejected') AND (status <> '') = (lane = 'note')),
  pinned     INTEGER NOT NULL,
  task       TEXT    NOT NULL, -- a digest's
  seq        INTEGER NOT NULL, -- a message's
  folded     INTEGER NOT NULL DEFAULT 0, -- the summary that stands for the message
  first      INTEGER NOT NULL DEFAULT 0, -- a summary's first original
  calls      TEXT    NOT NULL, -- JSON
  answers    TEXT    NOT NULL,
  CHECK (task = '' OR octet_length(body) <= 2048 + 64)
) STRICT;

CREATE UNIQUE INDEX mem_items_name ON mem_items (space, lane, thread, name);
CREATE UNIQUE INDEX mem_items_seq ON mem_items (thread, folded, seq) WHERE lane = 'message';
CREATE UNIQUE INDEX mem_items_slot ON mem_items (space, bank, slot) WHERE slot IS NOT NULL;
CREATE INDEX mem_items_bank ON mem_items (bank, at) WHERE bank <> '';
CREATE INDEX mem_items_expires ON mem_items (expires) WHERE expires < 9223372036854775807;
CREATE INDEX mem_items_origin ON mem_items (run, path) WHERE run <> '';
CREATE INDEX mem_items_folded ON mem_items (folded) WHERE folded > 0;

-- Earlier versions of facts. dead is 1 for a deletion, which covers all times, and 2 for the stub of an expired version.
-- Neither has a value.
CREATE TABLE mem_versions (
  space      INTEGER NOT NULL REFERENCES mem_spaces (no),
  name       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  dead       INTEGER NOT NULL,
  bank       TEXT    NOT NULL,
  tags       TEXT    NOT NULL, -- JSON
  seal       TEXT    NOT NULL,
  body       BLOB    NOT NULL,
  created    INTEGER NOT NULL,
  changed    INTEGER NOT NULL, -- when it was written
  ended      INTEGER NOT NULL, -- when the next one was
  expires    INTEGER NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to   INTEGER NOT NULL,
  run        TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  attempt    INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX mem_versions_version ON mem_versions (space, name, version);
CREATE INDEX mem_versions_ended ON mem_versions (ended);
CREATE INDEX mem_versions_expires ON mem_versions (expires) WHERE expires < 9223372036854775807;

CREATE TABLE mem_tags (
  item INTEGER NOT NULL REFERENCES mem_items (no) ON DELETE CASCADE,
  tag  TEXT    NOT NULL CHECK (octet_length(tag) BETWEEN 1 AND 256),
  PRIMARY KEY (item, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE mem_supersedes (
  note INTEGER NOT NULL REFERENCES mem_items (no) ON DELETE CASCADE,
  old  INTEGER NOT NULL REFERENCES mem_items (no) ON DELETE CASCADE,
  PRIMARY KEY (note, old)
) STRICT, WITHOUT ROWID;

CREATE INDEX mem_supersedes_old ON mem_supersedes (old);

CREATE TABLE mem_sources (
  note   INTEGER NOT NULL REFERENCES mem_items (no) ON DELETE CASCADE,
  source INTEGER NOT NULL REFERENCES mem_items (no) ON DELETE CASCADE,
  PRIMARY KEY (note, source)
) STRICT, WITHOUT ROWID;

CREATE INDEX mem_sources_source ON mem_sources (source);

CREATE TABLE mem_vectors (
  item  INTEGER NOT NULL REFERENCES mem_items (no) ON DELETE CASCADE,
  model TEXT    NOT NULL,
  seal  TEXT    NOT NULL,
  hash  BLOB    NOT NULL,
  dim   INTEGER NOT NULL,
  value BLOB    NOT NULL, -- float32, little endian
  PRIMARY KEY (item, model)
) STRICT, WITHOUT ROWID;

-- What the remote backend has yet to be told.
CREATE TABLE mem_projections (
  no       INTEGER PRIMARY KEY AUTOINCREMENT,
  id       TEXT    NOT NULL UNIQUE,
  document TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  space    INTEGER NOT NULL, -- 0 for a deletion that outlives its namespace
  item     TEXT    NOT NULL, -- JSON of the reference, '' for a namespace as a whole
  gone     INTEGER NOT NULL, -- asks for a deletion
  seal     TEXT    NOT NULL,
  body     BLOB    NOT NULL,
  tries    INTEGER NOT NULL,
  why      TEXT    NOT NULL,
  queued   INTEGER NOT NULL,
  due      INTEGER NOT NULL,
  claim    INTEGER NOT NULL DEFAULT 0, -- counts how often it was handed out
  dead     INTEGER NOT NULL
) STRICT;

CREATE INDEX mem_projections_document ON mem_projections (document, version);
CREATE INDEX mem_projections_due ON mem_projections (due) WHERE dead = 0;
CREATE INDEX mem_projections_space ON mem_projections (space);

-- The documents that the remote backend may have, and how far each has come.
CREATE TABLE mem_documents (
  document TEXT    PRIMARY KEY,
  space    INTEGER NOT NULL, -- 0 once its item is forgotten
  item     TEXT    NOT NULL,
  queued   INTEGER NOT NULL, -- the highest version given
  done     INTEGER NOT NULL  -- the highest version delivered
) STRICT, WITHOUT ROWID;

CREATE INDEX mem_documents_space ON mem_documents (space);

-- The hashes of the operations that have been applied.
CREATE TABLE mem_applied (
  id BLOB    PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX mem_applied_at ON mem_applied (at);

-- It keeps its own copy of the indexed text: without one, a delete must name the old tokens, which a later tokenizer could
-- not. scope has the row's bank and namespace, which narrow a search inside the index; it has no weight.
CREATE VIRTUAL TABLE mem_fts USING fts5 (title, body, author, scope, tokenize = "ascii");
INSERT INTO mem_fts (mem_fts, rank) VALUES ('rank', 'bm25(1.0, 1.0, 1.0, 0.0)');
CREATE VIRTUAL TABLE mem_vocabulary USING fts5vocab ('mem_fts', 'row');
