package answer

import (
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
)

// How much is told of what went wrong, in bytes: of one earlier attempt, and of a refused answer.
const (
	MostEarlier = 1000
	MostRefused = 2000
)

// mostAttempts is how many earlier attempts are told of.
const mostAttempts = 3

// Failed is the record of a conversation that came to no good end.
type Failed struct {
	Attempt int        `json:"attempt"`
	Code    cairn.Code `json:"code"`
	// Message has MostEarlier bytes at most.
	Message string `json:"message,omitempty"`
}

// Earlier tells the last failed conversations, for the end of a first message. The bytes depend on their records alone.
func Earlier(earlier []Failed) string {
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
