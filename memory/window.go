package memory

import "slices"

// Window bounds how much of a thread is wanted. Zero fields do not limit.
type Window struct {
	// Last is how many messages, at most.
	Last int
	// Bytes is how many bytes of Content and Data, at most.
	Bytes int
	// Tokens is how many tokens of them, at most, as Count counts.
	Tokens int
	// Count defaults to four bytes a token, rounded up, which suits English; for a hard limit give the model's own.
	Count func(m Message) int
	// KeepSystem keeps system messages however old; they count against the limits before anything else does.
	KeepSystem bool
}

func (w Window) tokens(m Message) int {
	if w.Count != nil {
		return w.Count(m)
	}
	return (len(m.Content) + len(m.Data) + 3) / 4
}

// room is what is left of a window.
type room struct {
	Window
	last, bytes, tokens int
}

// take says whether m fits, and takes its room if so.
func (r *room) take(m Message) bool {
	last, bytes, tokens := r.last+1, r.bytes+len(m.Content)+len(m.Data), r.tokens
	if r.Tokens > 0 {
		tokens += r.Window.tokens(m)
	}
	if r.Last > 0 && last > r.Last || r.Bytes > 0 && bytes > r.Bytes || r.Tokens > 0 && tokens > r.Tokens {
		return false
	}
	r.last, r.bytes, r.tokens = last, bytes, tokens
	return true
}

// Keep returns the messages that stay, which are in the order of a thread: the newest that fit, without a gap, and none of a
// call and its results without the others. With KeepSystem the system messages before them stay too.
func (w Window) Keep(messages []Message) []Message {
	r := room{Window: w}
	if w.KeepSystem {
		for _, m := range messages {
			if m.Role == System {
				r.take(m)
			}
		}
	}
	start := len(messages)
	for start > 0 {
		m := messages[start-1]
		if !(w.KeepSystem && m.Role == System) && !r.take(m) {
			break
		}
		start--
	}
	start = wholeFrom(messages, start)
	if !w.KeepSystem || start == 0 {
		return messages[start:]
	}
	var kept []Message
	for _, m := range messages[:start] {
		if m.Role == System {
			kept = append(kept, m)
		}
	}
	return append(kept, messages[start:]...)
}

// wholeFrom returns the first place at or after start where a cut parts no call from a result.
func wholeFrom(messages []Message, start int) int {
	if start <= 0 || start >= len(messages) {
		return start
	}
	ends := make([]int, len(messages)) // by message: the last one that belongs to it
	calls := map[string]int{}
	for i, m := range messages {
		ends[i] = i
		if at, ok := calls[m.Answers]; ok && m.Answers != "" {
			ends[at] = i
		}
		for _, id := range m.Calls {
			calls[id] = i
		}
	}
	for i := 0; i < start; i++ {
		if ends[i] >= start { // what comes before start grows, and with it what it may reach into
			start = ends[i] + 1
		}
	}
	return start
}

// Split parts a thread into what a summary may replace and what stays: at least the last keep messages and all system
// messages. No call is parted from its result.
func Split(messages []Message, keep int) (old, rest []Message) {
	cut := max(len(messages)-max(keep, 0), 0)
	// A unit that lies across the cut stays as a whole.
	calls := map[string]int{}
	starts := make([]int, len(messages))
	for i, m := range messages {
		starts[i] = i
		if at, ok := calls[m.Answers]; ok && m.Answers != "" {
			starts[i] = at
		}
		for _, id := range m.Calls {
			calls[id] = i
		}
	}
	for i := len(messages) - 1; i >= cut; i-- {
		cut = min(cut, starts[i])
	}
	for _, m := range messages[:cut] {
		if m.Role == System && m.Summary == nil {
			rest = append(rest, m)
		} else {
			old = append(old, m)
		}
	}
	return slices.Clip(old), append(rest, messages[cut:]...)
}
