// Package rank decides what a query recalls. It is pure: documents and their statistics come in as data or behind
// Source, ordered rows and a trace of what was done come out. No SQL, no files, no clock, no goroutines: the same input
// gives the same bytes.
package rank
