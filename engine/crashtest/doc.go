// Package crashtest kills real processes that run workflows and looks at what they leave behind.
//
// What an engine promises about crashes can't be seen from inside of it. Here a worker program runs workflows over a
// SQLite file and writes a side-effect log; a test starts it, kills it at random instants or stops it, starts it again,
// and after each death puts together what is there: the frames, the journal, the outbox, the catalog, the log, and what
// the worker had acknowledged on its pipe. One checker, Check, compares all of that with the guarantees I1–I13 of the
// design; each complaint begins with the guarantee that is broken.
//
//	go test ./engine/crashtest                                  # 200 kills
//	go test ./engine/crashtest -run Kill -kills 20000 -seed 7   # a long night
//	go test ./engine/crashtest -run Handoff                     # at every transaction of a chain of runs
//	CAIRN_KILL_ROUNDS=500 go test ./engine/crashtest -run Kill
//
// # The side-effect log
//
// Processes append to one file, one write per line, so that the order of its lines is an order in time across
// processes. A line is in the file before what it announces goes on: a body's "start" comes before its work, a
// frame's acknowledgement before the commands that the frame releases. That order is what most of the rules about
// repeating, losing and overtaking are about.
//
// # Chains
//
// A run that was continued and its successors are checked one by one and together (Checker.Chain): each continued run has
// exactly one successor, which began with what was decided to be handed over, and the inbox items that were sent to the
// first run are taken by the chain in order, each once.
//
// # What it does not prove
//
//   - kill -9 leaves the page cache: lost fsyncs are not seen. That the file is written with synchronous=FULL is
//     internal/dbfile's to test.
//   - Signals and durable timers (I5, I6) are checked as far as frames tell of them: inbox items by number, pauses
//     between attempts by time. The wall clock is not turned.
package crashtest
