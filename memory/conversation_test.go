package memory_test

import (
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// TestAForkHasNoThread: a window can't begin with two conversations.
func TestAForkHasNoThread(t *testing.T) {
	c := memory.Conversation{Thread: "t", Namespace: memory.Namespace{Kind: memory.UserKind, ID: "u"}}
	if err := c.Check(&cairn.TaskSpec{Prompted: true}); err != nil {
		t.Error(err)
	}
	if err := c.Check(&cairn.TaskSpec{Prompted: true, Fork: "a"}); err == nil || !strings.Contains(err.Error(), `forks "a"`) {
		t.Errorf("%v", err)
	}
}
