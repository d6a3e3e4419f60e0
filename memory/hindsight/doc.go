// Package hindsight speaks to a Hindsight server, the remote backend of memory: a client for the calls that recall,
// primers and projection need, and a [Projector] that keeps the server's documents in step with a local queue.
//
// It is chosen by environment; without HINDSIGHT_URL there is no remote:
//
//	if cfg, ok := hindsight.FromEnv(); ok {
//		client, err := hindsight.New(cfg)
//		…
//		got, err := client.Recall(ctx, "project-x", hindsight.Query{
//			Text:   prompt,
//			Filter: [][]string{{"scope:main", "branch:x"}, {"stream:s"}},
//		})
//	}
//
// Banks have two names. Callers use the configured one everywhere, and policy is decided on it; the prefix of
// HINDSIGHT_BANK_PREFIX is put before it when a request is written and taken off when an answer is read.
//
// What the server does silently is made visible here. A query that is too long for it is shortened. A row that does not
// match the filter is dropped and counted, whatever the server thought. A bank that does not exist yet recalls nothing,
// and says so. A retain that the server accepted is not done before its operation is, which the projector waits for.
//
// Each record is a document of its own, replaced as a whole: appending loses turns when two append at once, and only a
// whole document can be deleted. The operation's id is derived from the record's, so sending one twice is once.
//
// The server is told of digests and of what agents remember, and of their removal. Facts, messages and other notes stay local,
// and so does what people think of a note: a [Backend] asks both, and drops what no longer counts here.
//
// Versions 0.9.1 and 1.1.0 of the server are tested. Not here: creating banks and mental models, reflection, and running
// a server.
package hindsight
