package window

import (
	"encoding/json"
	"strings"

	"github.com/cairnrun/cairn"
)

// Setup is what is the same in all windows of a conversation. It is stored with its first call: later attempts see these
// bytes, whatever has become of the program since.
type Setup struct {
	System   string    `json:"system,omitempty"`
	Examples []Example `json:"examples,omitempty"`
	Tools    []Tool    `json:"tools,omitempty"`
	// Schema is what the answer must fit, where the provider holds it to that.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Model and Provider are whom the calls go to; of a chain it is the first.
	Model    string `json:"model,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Size is the model's window in tokens; 0 is unknown.
	Size  int   `json:"size,omitempty"`
	Cache Rules `json:"cache,omitzero"`
	// Reduces says that the provider does what Reduction would.
	Reduces   bool      `json:"reduces,omitempty"`
	Reduction Reduction `json:"reduction,omitzero"`
	// Keeps says that what is taken out can be read as an artifact.
	Keeps bool `json:"keeps,omitempty"`
	// Long asks for the longer life of cache entries from the first call on.
	Long bool `json:"long,omitempty"`
	// Remind is what is said once more at the end of a window that is over half full.
	Remind string `json:"remind,omitempty"`
}

// Tool is a tool as a model sees it.
type Tool struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Schema      json.RawMessage   `json:"schema,omitempty"`
	Native      map[string]string `json:"native,omitempty"`
	// Reads says that it changes nothing: an equal result may be told by a pointer.
	Reads bool `json:"reads,omitempty"`
}

// ToolOf is a tool without what does it.
func ToolOf(t cairn.Tool) Tool {
	return Tool{Name: t.Name, Description: t.Description, Schema: t.Schema, Native: t.Native, Reads: !t.SideEffect}
}

// Example shows a model what a good answer looks like.
type Example struct {
	Prompt string `json:"prompt"`
	Answer string `json:"answer"`
}

// The tags that delimit parts. They never change: they are part of the prefix.
const (
	examplesTag = "examples"
	exampleTag  = "example"
	depTag      = "dep"
	schemaTag   = "output_schema"
	todoTag     = "todo"
	remindTag   = "reminder"
	summaryTag  = "summary"
	clearedTag  = "cleared"
)

// Text is the system text with the examples behind it.
func (s Setup) Text() string {
	if len(s.Examples) == 0 {
		return s.System
	}
	return strings.TrimLeft(s.System+"\n\n"+s.examples(), "\n")
}

func (s Setup) examples() string {
	if len(s.Examples) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<" + examplesTag + ">\n")
	for _, e := range s.Examples {
		b.WriteString("<" + exampleTag + ">\n<prompt>\n" + e.Prompt + "\n</prompt>\n<answer>\n" + e.Answer + "\n</answer>\n</" + exampleTag + ">\n")
	}
	b.WriteString("</" + examplesTag + ">")
	return b.String()
}

// SchemaText is how a schema is told to a model whose provider does not hold answers to it.
func SchemaText(schema json.RawMessage) string {
	return "Your last message must be JSON that fits this schema, and nothing else.\n<" + schemaTag + ">\n" + string(schema) + "\n</" + schemaTag + ">"
}
