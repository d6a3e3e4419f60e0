// Package hindsighttest has what tests of a remote memory need: a Server that behaves like Hindsight as far as package
// hindsight's calls go, a Queue in memory, and the suite that every hindsight.Queue must pass.
//
//	server := hindsighttest.NewServer("1.1.0")
//	ts := httptest.NewServer(server)
//
// The server knows no ranking: a recall returns every row that shares a word with the query, oldest first.
package hindsighttest
