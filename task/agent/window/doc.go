// Package window plans what a model sees in each call of a conversation: which bytes, in which order, what is taken out when
// there is too much, what is said again at the end, and where the provider is to cache. It is pure: it has no clock, calls no
// model and stores nothing. Package loop asks it before each call and writes down what it decides, so that the windows of a
// conversation can be made again from its journal, byte for byte.
//
//	p := window.Open(window.Opening{Setup: setup, First: first})
//	for {
//		plan := p.Decide(now)
//		p.Apply(plan)
//		view := p.View(plan) // the bytes of this call
//		answer, results := …
//		p.Said(answer, used)
//		p.Told(results)
//	}
//
// # The order
//
// Tools and system text with its examples, the same in all calls; what was said before; the first message with memory, prompt,
// and the schema of the answer; the turns; and at the end of the last message of the user, behind all cache marks, what is
// said in each call anew: the list of things to do, and in a window that is more than half full the instructions once more.
// What stands in the middle of a long window is what a model overlooks.
//
// # What is taken out
//
// Up to Reduction.Trigger a turn only appends, so each call finds its prefix in the provider's cache. Beyond it old results of
// tools are cleared, but only in batches that free at least Reduction.Free: each batch costs the cache once. What stays in place is
// a reference to the whole text. The newest results stay, those of listed tools, and all errors, from which a model
// learns. Where that does not help and there is a compactor, everything but the newest turns is replaced by a summary. What
// code can tell to be worth keeping — paths, and the sentences that state a decision, a bug or a plan — is looked for
// in the summary, and stands behind it word for word where it is missing.
//
// A result that repeats one in the window, of a tool that only reads, becomes a pointer to it.
//
// # What is not safe
//
// A Planner belongs to one goroutine. Tokens are an estimate until a provider has counted them: one for each four bytes.
package window
