// Package transcript is what agents that are programs were told and have answered, as the journals of their tasks have it. Package
// command writes it; who only reads it needs nothing of what serves and runs programs.
//
//	held, err := transcript.Read(records)
//	view, same, err := held[0].Window(1)
//
// # What is in a journal
//
// A conversation begins with a window.Opening: the first message with its parts, and the setup that the program is given besides. Each start
// of the program leaves a Start before it: which words it was told, and with which plan of package window they were put together. The bytes
// can be made again from these two, and are compared with a hash. Turns that have ended and calls of served tools have records of
// their own (Turn, package toolcall). A Same says that a call was answered by a pointer.
//
// # What is not here
//
// A program's window is its own: what it has read by itself, what it has thought, and what it has taken out.
package transcript
