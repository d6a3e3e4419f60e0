package loop

import (
	"fmt"
	"strings"

	"github.com/cairnrun/cairn/internal/grapheme"
)

// How much is told of what went wrong: of one earlier attempt, of a refused answer, of a tool; and of how many attempts.
const (
	mostEarlier  = 1000
	mostRepair   = 2000
	mostProblem  = 4000
	mostAttempts = 3
)

// cut shortens a text to so many bytes, with an ellipsis where it was cut.
func cut(text string, most int) string {
	return grapheme.Cut(text, most)
}

// lessons tells the last failed conversations. The bytes depend on their records alone.
func lessons(earlier []failed) string {
	var b strings.Builder
	b.WriteString("Earlier attempts at this task have failed. Do not repeat what led there.\n<earlier_attempts>\n")
	if n := len(earlier) - mostAttempts; n > 0 {
		earlier = earlier[n:]
		fmt.Fprintf(&b, "(%d older ones are left out)\n", n)
	}
	for _, f := range earlier {
		message := strings.ReplaceAll(f.Message, "</earlier_attempts>", "<\\/earlier_attempts>")
		fmt.Fprintf(&b, "Attempt %d: %s: %s\n", f.Attempt, f.Code, message)
	}
	b.WriteString("</earlier_attempts>")
	return b.String()
}
