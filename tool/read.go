package tool

import (
	"context"

	"github.com/cairnrun/cairn"
)

// scanned is how much of a file is read for the count of its lines.
const scanned = 64 << 20

type readFile struct {
	Path   string `json:"path" validate:"required" jsonschema_description:"The file, as a path in the root."`
	From   int    `json:"from,omitempty" jsonschema:"minimum=1" jsonschema_description:"The first line, from 1. The default is 1."`
	Lines  int    `json:"lines,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many lines. The default is as many as fit."`
	Offset int64  `json:"offset,omitempty" jsonschema:"minimum=1" jsonschema_description:"The byte to begin at, instead of a line: for lines that are too long."`
}

func (f *files) reader() cairn.Tool {
	return fileTool(f, "fs_read", "Reads a text file, or some lines of it. The first line of the answer says which lines these are, how many there are, and where to go on.",
		func(ctx context.Context, f *files, in readFile) (string, error) {
			name, err := clean(in.Path)
			if err != nil {
				return "", err
			}
			file, info, err := f.open(name)
			if err != nil {
				return "", err
			}
			defer file.Close()
			part := span{From: in.From, Lines: in.Lines, Offset: in.Offset, Max: f.MaxAnswer}
			limit := max(scanned, in.Offset+int64(f.MaxAnswer)+chunk)
			if in.From > 0 && in.Offset == 0 && info.Size() > limit {
				limit = 0 // whoever asks for a line far down has to be told what is there
			}
			found, err := part.read(ctx, file, limit)
			if err != nil {
				return "", wrap(name, err)
			}
			return found.render(quoted(name), part, max(info.Size(), found.size))
		})
}
