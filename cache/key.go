package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Inputs are what a key covers. Run, Workflow and Path count as far as the policy says.
type Inputs struct {
	Policy              Policy
	Run, Workflow, Path string
	// Input is the frozen prompt or input; nil is none.
	Input json.RawMessage
	// Identity is what runs the task: TaskSpec.Identity.
	Identity string
	// Schema is the hash of the output schema.
	Schema string
}

// covered is what is hashed. The field names are a format: stored results are found by it.
type covered struct {
	Format   int             `json:"cairn"`
	Scope    string          `json:"scope"`
	Run      string          `json:"run,omitempty"`
	Workflow string          `json:"workflow,omitempty"`
	Task     string          `json:"task,omitempty"`
	Key      string          `json:"key,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Identity string          `json:"identity,omitempty"`
	Schema   string          `json:"schema"`
	Version  string          `json:"version,omitempty"`
}

// Key is the name that a result is stored under: SHA-256, in hex, of the canonical JSON of all that it covers. The only
// error is an input that has no canonical form.
func Key(in Inputs) (string, error) {
	c := covered{Format: 1, Scope: in.Policy.Scope.String(), Key: in.Policy.Key, Input: in.Input,
		Identity: in.Identity, Schema: in.Schema, Version: in.Policy.Version}
	if c.Key == "" {
		c.Task = Task(in.Path)
	}
	switch in.Policy.Scope {
	case Run:
		c.Run = in.Run
	case Workflow:
		c.Workflow = in.Workflow
	}
	raw, err := json.Marshal(c)
	if err == nil {
		raw, err = schema.Canonical(raw)
	}
	if err != nil {
		return "", fmt.Errorf("the task's input has no canonical form to be cached by: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// Task is a path without its iterations: work[3]/step is work/step.
func Task(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if loop, _, ok := cairn.CutIteration(segment); ok {
			segments[i] = loop
		}
	}
	return strings.Join(segments, "/")
}
