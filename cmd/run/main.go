// Command run is Cairn's command line with the workflows of the examples.
//
// A program with workflows of its own is these same lines with other names in the call of cli.Main.
package main

import (
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/examples/audit"
	"github.com/cairnrun/cairn/examples/handoff"
	"github.com/cairnrun/cairn/examples/hello"
	"github.com/cairnrun/cairn/examples/research"
	"github.com/cairnrun/cairn/examples/review"
	"github.com/cairnrun/cairn/examples/runbook"
)

func main() {
	cli.Main(hello.Workflow, audit.Workflow, handoff.Workflow, runbook.Workflow, runbook.Rules, review.Workflow, research.Workflow)
}
