// Package cli is the command line of a program that has workflows: start a run, watch it, look into it, cancel it,
// carry it elsewhere. The group memory does the same for what outlives runs, and doctor examines all of it.
//
// The whole of such a program:
//
//	func main() { cli.Main(MyWorkflow, AnotherWorkflow) }
//
// # Streams
//
// Results go to stdout, everything else to stderr. With --json both carry one JSON object per line: stdout what was asked
// for (for up and resume the outcome: run, status, result, failure), stderr the progress and, if there is one, the error.
//
// # Exit codes
//
//	0    the run has finished, or the command has done what it was asked for
//	1    the run has failed or was cancelled, or the machine let us down; one that a budget has stopped goes on with
//	     resume once the limit is raised
//	2    the command was refused: wrong usage or input, an unknown run; nothing was written
//	3    the run is parked and goes on with resume
//	4    the run is blocked: its code has to be mended first
//	130  interrupted; the run goes on with resume
//
// A refused command and one that only looks write nothing: they do not create the database either.
package cli
