package answer

import (
	"strings"

	"github.com/cairnrun/cairn/internal/grapheme"
)

// Refused is what a model is told whose answer does not fit. json says that the answer has a schema.
func Refused(wrong error, json bool) string {
	var b strings.Builder
	b.WriteString("Your answer is refused: " + grapheme.Cut(wrong.Error(), MostRefused) + "\n")
	if json {
		b.WriteString("Send the whole answer again, corrected, as JSON that fits the schema, and nothing else.")
	} else {
		b.WriteString("Send the answer as text.")
	}
	return b.String()
}
