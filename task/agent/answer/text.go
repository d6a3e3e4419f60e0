package answer

import (
	"encoding/json"
	"strings"

	"github.com/cairnrun/cairn/internal/grapheme"
)

// Wanted says that an answer has to fit a schema, for the first message to a model that is not held to it otherwise.
func Wanted(schema json.RawMessage) string {
	return "Your last message must be JSON that fits this schema, and nothing else.\n<output_schema>\n" + string(schema) + "\n</output_schema>"
}

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
