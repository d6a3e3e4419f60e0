package audit

import (
	"testing"

	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/enginetest"
)

// A recorded audit replays against today's code for ever: who changes the workflow sees what would happen to runs under
// way. Write it anew with -record only after a change that live runs are meant to be blocked by.
func TestRecordedAudit(t *testing.T) {
	run := enginetest.Run(t, Workflow, Input{Dir: "testdata/shop"}, nil)
	if run.Status != core.Finished {
		t.Fatalf("%s: %v", run.Status, run.Failure)
	}
	run.Record(t, "testdata/audit.jsonl")
	enginetest.Replay(t, Workflow, "testdata/audit.jsonl")
}
