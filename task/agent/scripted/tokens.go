package scripted

import "github.com/cairnrun/cairn/task"

// BytesPerToken is what is counted as a token: about what tokenizers make of English text and of code.
const BytesPerToken = 4

// Tokens is what so many bytes of text are counted for, rounded up.
func Tokens(bytes int) int64 { return (int64(bytes) + BytesPerToken - 1) / BytesPerToken }

// requested counts all that an agent is asked with.
func requested(req task.Request) int64 {
	n := len(req.Message()) + len(req.Schema)
	for _, m := range req.History {
		n += len(m.Content)
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return Tokens(n)
}
