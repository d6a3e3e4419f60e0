// Package aspects puts budgets on what a part of a workflow may use: tokens, money and time.
//
// A long run of agents has no natural end, and the dearest mistake is one that nobody stops. An Aspects node puts limits
// around what is below it, and leaves the work itself untouched:
//
//	cairn.Try{
//		Only: cairn.Codes{aspects.BudgetExceeded},
//		Body: aspects.Aspects{
//			Tokens:   aspects.Budget{Max: 150_000},
//			Cost:     aspects.Budget{Max: 2 * aspects.Dollar, PerTask: 50 * aspects.Cent},
//			Children: cairn.Nodes{work},
//		},
//		Catch: func(v *cairn.View, f cairn.Failure) cairn.Node { … },
//	}
//
// # What counts
//
// The ledger of a budget is folded from the run's frames, so it survives a kill. It counts every model call below the
// node: those of failed attempts, of schema repairs and of sub-agents too. Work whose output is taken from Cairn's own
// cache (package cache) has made no call and uses nothing; what a provider's prompt cache saves shows in the cost. Nested
// budgets all hold: an inner one that is looser loosens nothing. A budget in a loop's body is new in each iteration, one
// around the loop is for all of them.
//
// # When it is checked
//
// Before an attempt is dispatched, once more when it has its place in the process, and before each model call of an agent
// that makes several (task.Admit), for the limit on the task and for every Max around it, usage of other running attempts
// included. A limit is reached when as much is spent as it allows. Then, as OnExceeded says:
//
//   - Fail: the budget's node fails with BUDGET_EXCEEDED. The refused task has used no attempt; what runs beside it is paid
//     for, ends, and counts. A Try around the node can catch the failure; its Catch is outside of the budget. Where nobody
//     catches it the run fails, and resuming it with a higher limit goes on.
//   - Warn: it is told, once, as an event and in metrics.
//   - SkipRemaining: tasks that have not started are skipped, with the reason, and a loop begins no further iteration.
//
// A limit per task is on all attempts of one task together; reaching it is final for them, and the failure is the task's.
// A Finally below a budget runs also when the budget is used up.
//
// # Where it is seen
//
// Limits, breaches, refused attempts, the first call in a higher bucket of context or over half of its model's window, and
// models without a price are events of the run and lines of its progress. On the command line inspect shows each budget as
// a bar, node what a task or all below a budget has used, and metrics the counters, which Tracking bounds:
//
//	budget  #aspects  tokens  ███████░░░  105,000 of 150,000 (45,000 left) fail
//
// # How far a budget can be overdrawn
//
// A model call that has begun is not cut off, so each attempt can go over by one call, and attempts that began side by
// side by one call each: with n places in the process or the run, spent is less than Max plus what n calls use. Who makes
// one call per attempt, or calls that agents do not tell of until their end, has to read "attempt" for "call". Reserve
// bounds it further: a task starts beside others only when what is spent and a Reserve for each attempt, its own included,
// fit under Max. Attempts that use no more than Reserve then overdraw by less than one Reserve.
//
// # What is not safe
//
// A kill loses the usage of calls in flight, and that of earlier calls of the attempts in flight: it was never
// committed. Latency is read from the times of frames and is as coarse as they are. Costs are as right as the price table:
// see DefaultModels.
package aspects
