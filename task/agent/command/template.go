package command

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Template says how a program is talked to.
//
// In arguments and in MCP.Config these are replaced:
//
//	{prompt}       what to say, if it does not go to standard input
//	{session}      what the session is resumed by
//	{schema}       the JSON schema of the answer
//	{schema_file}  a file with it
//	{model}        Config.Model
//	{system}       Config.System, and {system_json} the same as a JSON string
//	{dir}          Config.Dir
//	{mcp_config}   a file with MCP.Config, which only its owner can read
//	{mcp_url}      where tools are served
//	{mcp_token}    the secret to send there, in MCP.Config only
//	{mcp_tools}    the names of the tools, as MCP.Tool spells them, with commas
//	{mcp_timeout}  how long a call may take, in seconds
//
// An argument with one that has no value is left out, so a flag and its value have to be one argument: "--model={model}". The
// argument {args} stands for Config.Args, {mcp} for MCP.Args if there are tools.
type Template struct {
	// Name is the program's in errors and in the agent's identity. Required.
	Name string
	// Program is what it is called, or its path. Config.Program wins.
	Program string
	// Args start a session, Resume go on with one. Without Resume, and without {session} in Args, sessions are not resumed.
	Args, Resume []string
	// Stdin gives the prompt on standard input, which is empty otherwise. Arguments have limits, and can be seen by others
	// on the same host.
	Stdin bool
	// Format reads what the program writes to standard output. Required.
	Format func(c Config) Format
	// Schema says whether the program can hold an answer to a schema, and how it wants that. Nil takes every schema as it
	// is. It matters only where an argument has the schema; elsewhere, and if it says no, the prompt spells it out.
	Schema func(schema json.RawMessage) (json.RawMessage, bool)
	// MCP says how tools are served to it. Nil is a program that can't have tools.
	MCP *MCP
	// Inherit are names of variables that the program sees besides those of Config.
	Inherit []string
}

// MCP says how a program is told of an MCP server that speaks streamable HTTP.
type MCP struct {
	// Args stand where the arguments have {mcp}.
	Args []string
	// Config is the content of the file {mcp_config}; "" is none.
	Config string
	// TokenEnv is a variable of the program's environment that gets the token; "" is none.
	TokenEnv string
	// Tool is how the program names a tool of the server, with {tool} for its name; "" is the name itself.
	Tool string
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// known are the placeholders.
var known = []string{"{prompt}", "{session}", "{schema}", "{schema_file}", "{model}", "{system}", "{system_json}", "{dir}", "{mcp_config}", "{mcp_url}",
	"{mcp_tools}", "{mcp_timeout}", "{args}", "{mcp}"}

// wrong says what is wrong with a template.
func (t *Template) wrong() (wrong []string) {
	if t.Name == "" {
		wrong = append(wrong, "the template has no Name")
	}
	if t.Format == nil {
		wrong = append(wrong, "the template has no Format")
	}
	all := slices.Concat(t.Args, t.Resume)
	if t.MCP != nil {
		all = append(all, t.MCP.Args...)
	}
	for _, arg := range all {
		for _, one := range placeholder.FindAllString(arg, -1) {
			if !slices.Contains(known, one) {
				wrong = append(wrong, fmt.Sprintf("the argument %q has %s, which means nothing", arg, one))
			}
		}
	}
	if !t.Stdin && !mentions(t.Args, "{prompt}") {
		wrong = append(wrong, "the prompt goes neither to Stdin nor into Args")
	}
	return wrong
}

// resumes says whether a session can be gone on with.
func (t *Template) resumes() bool { return t.Resume != nil || mentions(t.Args, "{session}") }

// native says whether the program gets the schema.
func (t *Template) native() bool { return mentions(t.Args, "{schema}", "{schema_file}") }

func mentions(args []string, placeholders ...string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return slices.ContainsFunc(placeholders, func(p string) bool { return strings.Contains(arg, p) })
	})
}

// values are what placeholders stand for; one that is missing has no value.
type values map[string]string

// fill replaces placeholders. It is false if one of them has no value. What it puts in is not looked at again.
func (v values) fill(text string) (string, bool) {
	complete := true
	text = placeholder.ReplaceAllStringFunc(text, func(one string) string {
		value, ok := v[one]
		switch {
		case ok:
			return value
		case slices.Contains(known, one):
			complete = false
		}
		return one
	})
	return text, complete
}

// args are the arguments of one process.
func (t *Template) args(v values, more []string, tools bool) (args []string) {
	from := t.Args
	if v["{session}"] != "" && t.Resume != nil {
		from = t.Resume
	}
	for _, arg := range from {
		switch {
		case arg == "{args}":
			args = append(args, more...)
		case arg == "{mcp}" && tools:
			for _, arg := range t.MCP.Args {
				if arg, ok := v.fill(arg); ok {
					args = append(args, arg)
				}
			}
		case arg == "{mcp}":
		default:
			if arg, ok := v.fill(arg); ok {
				args = append(args, arg)
			}
		}
	}
	return args
}
