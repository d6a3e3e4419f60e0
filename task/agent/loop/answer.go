package loop

import (
	"encoding/json"

	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/task/agent/answer"
)

// answer reads the final text of a model. The output is nil where any text will do. The error is for the model to read.
func (c *conversation) answer(text string) (json.RawMessage, error) {
	return answer.Read(text, c.req.Schema, c.req.Check)
}

// cut shortens a text to so many bytes, with an ellipsis where it was cut.
func cut(text string, most int) string {
	return grapheme.Cut(text, most)
}
