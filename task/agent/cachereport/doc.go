// Package cachereport says what the calls of a run have read from the caches of their providers, what that has saved, and for
// each call that could have read more, why it did not. It is pure: calls go in, a report comes out.
//
//	report := cachereport.Of(calls, aspects.DefaultModels().Cost)
//	for _, c := range report.Calls {
//		fmt.Println(c.Path, c.Call, c.Read, c.Verdict, c.Why, c.Because)
//	}
//
// # How a miss is found
//
// What a call could have read is worked out from the windows: the longest beginning that it shares with an earlier call of the same
// provider and model, as far as that was cached by the rules that the provider has stated (window.Rules), and is still
// alive. Shared beginnings are found by hashes that are chained from block to block. Bytes are only compared of the two
// calls of which it is to be told where they part.
//
// A call of which the provider reports as many tokens read as that, or more, is a hit, whatever the rules say. For one with
// fewer the reasons are looked for in this order: there is an entry, and it can't be found (expired, in flight, out of the
// look-back); the prefix is too short to be cached; the window was rewritten on purpose; or it differs, and then from which byte
// on, in which part, and by what. What providers do to a window by themselves, clearing results or summing up, they say in their
// answers (loop.Edit, window.Compaction): from then on the window counts as they have shown it to the model, and the call that
// could not go on from the one before was rewritten on purpose, too.
//
// # What is not safe
//
// Only the calls that are given are known: what another run has cached is a hit that can't be explained, and never a miss.
// Tokens of a part of a window are an estimate, in proportion to what the provider has counted in all. A few
// per cent less than expected are therefore no miss (see Of). When a call has ended is not known, only when the next one of its
// conversation began.
package cachereport
