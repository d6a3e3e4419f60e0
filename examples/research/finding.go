package research

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/tool"
)

// Finding is something that a document says.
type Finding struct {
	Claim  string `json:"claim" validate:"required" jsonschema_description:"What was found, in a sentence."`
	Source string `json:"source" validate:"required" jsonschema_description:"The document, as a path in the root."`
	Quote  string `json:"quote" validate:"required,min=12" jsonschema_description:"The words of the document that show it, exactly as they stand there."`
}

// numbered is a line of an artifact of findings.
type numbered struct {
	N int `json:"n"`
	Finding
}

// Names of the artifacts.
const (
	findingsName = "findings.jsonl"
	planName     = "plan.json"
	reportName   = "report.md"
)

type findings struct {
	Findings []Finding `json:"findings" validate:"dive"`
}

// keepFindings is the tool by which a delegate puts findings into an artifact. What is misquoted it refuses, so that a model
// can mend it. An artifact changes nothing in the world, and the same findings make the same one: it is no side effect.
func keepFindings(dir string) cairn.Tool {
	return tool.New("keep_findings", "Keeps what you have found, for those who write the report. Call it once, with all of it.",
		func(ctx context.Context, in findings) (string, error) {
			root, err := os.OpenRoot(dir)
			if err != nil {
				return "", err
			}
			defer root.Close()
			var wrong []error
			var lines bytes.Buffer
			enc := json.NewEncoder(&lines)
			enc.SetEscapeHTML(false)
			for i, f := range in.Findings {
				if err := f.verify(root); err != nil {
					wrong = append(wrong, fmt.Errorf("finding %d: %w", i+1, err))
				}
				if err := enc.Encode(numbered{i + 1, f}); err != nil {
					return "", err
				}
			}
			if len(wrong) > 0 {
				return "", fmt.Errorf("nothing is kept, call it again with all that is right: %w", errors.Join(wrong...))
			}
			kept, err := task.WriteArtifact(ctx, findingsName, "application/jsonl", &lines)
			return fmt.Sprintf("%d findings are the artifact %s.", len(in.Findings), kept.Hash), err
		})
}

// keptFindings are the artifacts that the tool has written in this task.
func keptFindings(ctx context.Context) ([]cairn.Artifact, error) {
	written, err := task.Written(ctx)
	return slices.DeleteFunc(written, func(a cairn.Artifact) bool { return a.Name != findingsName }), err
}

// readFindings reads an artifact back.
func readFindings(ctx context.Context, a cairn.Artifact) ([]Finding, error) {
	file, err := task.ReadArtifact(ctx, a)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []Finding
	for dec := json.NewDecoder(file); ; {
		var line numbered
		switch err := dec.Decode(&line); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("the artifact %s holds no findings: %w", a.Hash, err)
		}
		all = append(all, line.Finding)
	}
}

// verify says whether the quote is in the source. How lines are broken there does not matter.
func (f Finding) verify(root *os.Root) error {
	raw, err := root.ReadFile(f.Source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no document %s", f.Source)
	case err != nil:
		return err
	}
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if !strings.Contains(words(string(raw)), words(f.Quote)) {
		return fmt.Errorf("%s does not say %q", f.Source, f.Quote)
	}
	return nil
}

func keepPlan(ctx context.Context, p Plan) (cairn.Artifact, error) {
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return cairn.Artifact{}, err
	}
	return task.WriteArtifact(ctx, planName, "application/json", bytes.NewReader(raw))
}
