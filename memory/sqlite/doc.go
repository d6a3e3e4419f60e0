// Package sqlite keeps memory in a SQLite database file: by default that of the runs, or one of its own.
//
//	store, err := sqlite.Open(ctx, sqlite.Config{Path: "memory.db"})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	_, err = store.SetFact(ctx, memory.Fact{
//		Place: memory.Place{Namespace: memory.Namespace{Kind: memory.WorkflowKind, ID: "code-review"}, Bank: "project-x"},
//		Key:   "test-runner", Value: json.RawMessage(`"bun test"`),
//	})
//
// # What holds
//
//   - A method that has returned nil has waited for the disk. After an error nothing of the call is in the file.
//   - An item and all that belongs to it, its entry in the full text index included, are written and deleted in one transaction.
//   - Reads see one moment and wait for nobody; nobody waits for them.
//   - A fact is gone from its expiry on, in every read, whether it was collected or not.
//   - Equal notes are one row however many write them at once: a unique index says so.
//   - The scope of a search is part of its query: what is outside of it is neither ranked nor counted.
//   - Text that is searched for is never read as syntax.
//
// # Forgetting
//
// Forget deletes rows and index entries, merges the index so that nothing is left in it that was only marked as deleted, and
// cuts the -wal file. In a file opened by Path deleted bytes are overwritten with zeros. In a shared file they may lie in free pages until
// these are used again, unless its opener has set SecureDelete. Copies and backups of the file are not reached. A deleted or
// overwritten fact is not forgotten: its versions stay until PruneVersions or Forget.
//
// # What recalls keep in memory
//
// Items that a recall has read stay decoded and taken apart into terms, up to 32 MiB, those used last. Whether an item may be seen, and in
// which state, the file says at each recall: what is kept answers no query by itself. An encrypted file's items are not kept.
// What is forgotten, deleted, expired or pruned is dropped with the commit, and at its next recall by any other process that has the
// file open. Go frees such memory and does not overwrite it. The value that a fact had before it was overwritten may stay until the fact is
// recalled or pruned.
//
// # Encryption
//
// With Keys, these are sealed with AES-256-GCM: values, bodies, titles, contents and data of messages, of all versions, the
// vectors, and the bodies of projections. Each is bound to its item, so that a text moved to another does not open; an older
// text of the same item put back does. These stay readable: namespaces, banks, keys of facts, ids, tags, times, origins,
// types, roles, statuses, links, the ids of tool calls, documents of the remote backend, why a projection failed, and how
// long a text is. Hashes are keyed, so that texts can't be guessed from them.
//
// A full text index is a copy of the text, so an encrypted file has none: opening a file with Keys for the first time drops
// it. Candidates then reads and opens all items of the scope, Recall those of the bank: right for thousands of items, slow for hundreds of thousands.
// Rows from before are sealed by Rekey, as they are with a new key. An encrypted file can't be made a plain one, but Export
// is in clear. A file opened with the wrong key, or without, is refused before anything is read.
//
// # What is not safe
//
//   - Network file systems: SQLite's locks do not hold there.
//   - SetFacts and Import of very many items in a shared file: they are one transaction, and everyone waits for it.
//   - Slow work in the function given to Vectors: while it runs the -wal file grows.
//   - A clock that jumps: what has expired by it is gone for reads, and comes back with the clock unless it was collected.
package sqlite
