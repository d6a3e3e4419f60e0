// Package audit reads a directory of Go code and says where it wants care:
// exported names without documentation, the longest functions, what was left
// to do, files that do not parse and packages without tests.
//
// The work is cut the way a durable workflow wants it. [List] finds the
// packages, [Analyse] reads one of them, [Fold] adds the analyses up and
// [Markdown] writes the report. Each step takes and returns plain values that
// survive a trip through JSON, and the same code on disk always gives the same
// bytes: no clock, no map order, no path of the machine it ran on. Where the
// engine has a memory, the workflow's report also says what has changed since
// the last audit.
//
// Only syntax is read. Nothing is built, type-checked or downloaded, so the
// audit sees the files of every platform and works on code that does not
// compile.
package audit
