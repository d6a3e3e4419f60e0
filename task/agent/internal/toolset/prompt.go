package toolset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/task"
)

// Long says that a prompt has a part (task.Dep) of more than so many bytes. With most at 0 nothing is long.
func Long(prompt string, most int) bool {
	return most > 0 && slices.ContainsFunc(task.Deps(prompt), func(d task.DepPart) bool { return len(d.Body) > most })
}

// Shorten puts the long parts of a prompt aside as artifacts of the attempt. In the place of each stand its beginning and a reference,
// between the same tags. Equal prompts give equal bytes.
func Shorten(ctx context.Context, prompt string, most int) (string, error) {
	if !Long(prompt, most) {
		return prompt, nil
	}
	var b strings.Builder
	at := 0
	for i, dep := range task.Deps(prompt) {
		if len(dep.Body) <= most {
			continue
		}
		kept, err := task.WriteArtifact(ctx, fmt.Sprintf("dep-%d", i+1), "text/plain; charset=utf-8", strings.NewReader(dep.Body))
		if err != nil {
			return "", err
		}
		b.WriteString(prompt[at:dep.From])
		b.WriteString(task.Dep(dep.Name, fmt.Sprintf("%s\n[This is the beginning of %d bytes. All of it is the artifact %s: read parts of it with %s.]",
			grapheme.Cut(dep.Body, min(Head, most/2)), len(dep.Body), kept.Hash, Artifact)))
		at = dep.To
	}
	b.WriteString(prompt[at:])
	return b.String(), nil
}
