package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
)

// An Offload takes long answers out of the conversation. The zero value is a good one.
type Offload struct {
	// Max is the most bytes of an answer that stays as it is; the default is 16 KiB. An answer that is a JSON string counts
	// by its text.
	Max int
	// Head is the most bytes of its beginning that stay; the default is 2 KiB.
	Head int
	// Store keeps the rest. The default writes to the artifacts of the attempt that the context carries, which commits no
	// reference with the attempt's output: give task.WriteArtifact.
	Store Store
}

// A Reference stands in the place of a long answer.
type Reference struct {
	// Artifact holds all of it: the text, if it was a JSON string, and else the JSON.
	Artifact cairn.Artifact `json:"artifact"`
	// Head is how it begins. Lines is how many there are.
	Head  string `json:"head"`
	Lines int    `json:"lines"`
	// Note says to the model what this is.
	Note string `json:"note"`
}

// Wrap returns the tools with their long answers put aside: what the model gets is a Reference, and artifact_read brings parts
// back. Equal answers give equal references. Where there is no store at all the model gets the beginning alone, and is
// told that the rest is lost. artifact_read itself stays as it is.
func (o Offload) Wrap(tools []cairn.Tool) []cairn.Tool {
	o.Max, o.Head = cmp.Or(o.Max, 16<<10), cmp.Or(o.Head, 2<<10)
	out := make([]cairn.Tool, len(tools))
	for i, t := range tools {
		out[i] = t
		if t.Name == artifactRead {
			continue
		}
		out[i].Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			answer, err := t.Call(ctx, in)
			if err != nil {
				return answer, err
			}
			return o.shorten(ctx, t.Name, answer)
		}
	}
	return out
}

func (o Offload) shorten(ctx context.Context, name string, answer json.RawMessage) (json.RawMessage, error) {
	content, media := []byte(answer), "application/json"
	if text, ok := text(answer); ok {
		content, media = []byte(text), "text/plain; charset=utf-8"
	}
	if len(content) <= o.Max {
		return answer, nil
	}
	head := grapheme.Cut(string(content[:min(len(content), o.Head+len(grapheme.Mark))]), o.Head)
	if !o.Store.available(ctx) {
		return encode(name, fmt.Sprintf("%s\n[cut: %d bytes in all, and there is no store for the rest; ask for less at once]", head, len(content)))
	}
	kept, err := o.Store.write(ctx, name, media, bytes.NewReader(content))
	if err != nil {
		// The call has happened, and a model that takes it for failed would repeat it.
		return encode(name, fmt.Sprintf("%s\n[cut: %d bytes in all; the call has succeeded, but the rest could not be kept: %s]", head, len(content), err))
	}
	return encode(name, Reference{Artifact: kept, Head: head, Lines: lines(content),
		Note: fmt.Sprintf("The answer has %d bytes and was put aside; this is its beginning. Read parts of it with artifact_read.", len(content))})
}

// lines counts the last one also when it has no end.
func lines(content []byte) int {
	n := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

// text is what a JSON string holds.
func text(answer json.RawMessage) (s string, ok bool) {
	if !strings.HasPrefix(string(answer), `"`) || json.Unmarshal(answer, &s) != nil {
		return "", false
	}
	return s, true
}
