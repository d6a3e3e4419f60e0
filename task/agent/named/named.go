// Package named finds the model that a name stands for, so that who does the work can be a part of a run's input:
//
//	scripted                  the script that the program brings along; so does ""
//	anthropic:MODEL           Anthropic, with the key in ANTHROPIC_API_KEY
//	openai:MODEL              OpenAI's Responses, with the key in OPENAI_API_KEY
//	chat:MODEL@BASEURL        Chat Completions of a server such as http://localhost:11434/v1/, with the key in CHAT_API_KEY, if it
//	                          wants one
//
// A workflow asks Check before anything is written, and Model while it renders:
//
//	cairn.Workflow[Input, Report]{
//		Ready:  func(in Input) error { return named.Check(in.Agent) },
//		Render: func(v *cairn.View, in Input) cairn.Node {
//			agent := &loop.Agent{Model: named.Model(in.Agent, script), System: "You review Go code."}
//			…
//		},
//	}
//
// On the command line up --agent sets the field "agent" of the input.
//
// # What is not safe
//
// Whoever can start a run can name any address of a server, and it gets the prompts, and the key in CHAT_API_KEY. The name is
// stored with the run's input, so it must hold no secret: an address with a password in it is refused. The package brings along
// the SDKs of all providers; a program that needs one imports that one.
package named

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/openai"
)

// Scripted is the name of the program's own script.
const Scripted = "scripted"

// How a name can be wrong.
const (
	// BadName: the name stands for no model.
	BadName cairn.Code = "BAD_AGENT"
	// NoKey: the environment has no key for the provider.
	NoKey cairn.Code = "NO_API_KEY"
)

// The environment variables with the keys.
const (
	AnthropicKey = "ANTHROPIC_API_KEY"
	OpenAIKey    = "OPENAI_API_KEY"
	ChatKey      = "CHAT_API_KEY"
)

const forms = `use "scripted", "anthropic:MODEL", "openai:MODEL" or "chat:MODEL@BASEURL"`

// choice is a name taken apart.
type choice struct{ provider, model, base string }

// parse takes a name apart: BAD_AGENT.
func parse(name string) (choice, error) {
	wrong := func(format string, args ...any) (choice, error) {
		return choice{}, &cairn.Error{Code: BadName, Message: fmt.Sprintf(format, args...), Next: forms}
	}
	provider, model, _ := strings.Cut(name, ":")
	c := choice{provider: provider, model: model}
	switch provider {
	case "", Scripted:
		if c.provider = Scripted; name != "" && name != Scripted {
			return wrong("%q is no name of an agent", name)
		}
		return c, nil
	case "anthropic", "openai":
	case "chat":
		at := strings.LastIndex(model, "@http")
		if at < 0 {
			return wrong("the agent has no address of a server")
		}
		c.model, c.base = model[:at], model[at+1:]
		u, err := url.Parse(c.base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return wrong("the agent's server has no address that can be read")
		}
		if u.User != nil || u.RawQuery != "" {
			return wrong("the address of the agent's server has a password or parameters in it, which would be stored; a key belongs into %s", ChatKey)
		}
	default:
		return wrong("there is no provider %q of agents", provider)
	}
	if strings.TrimSpace(c.model) == "" {
		return wrong("the agent %q names no model", provider)
	}
	return c, nil
}

// Check says what is wrong with a name here: that it stands for no model (BAD_AGENT), or that the provider's key is missing
// (NO_API_KEY). It asks nobody whether the model exists.
func Check(name string) error {
	c, err := parse(name)
	if err != nil {
		return err
	}
	key := map[string]string{"anthropic": AnthropicKey, "openai": OpenAIKey}[c.provider]
	if key != "" && os.Getenv(key) == "" {
		return &cairn.Error{Code: NoKey, Message: fmt.Sprintf("the agent %s needs a key", name), Next: "set the environment variable " + key}
	}
	return nil
}

// Model is the model that a name stands for, or script for Scripted and "". It asks nobody, and of what Check finds it makes an
// error of each call. Equal names are one Model in the life of the process.
func Model(name string, script loop.Model) loop.Model {
	c, err := parse(name)
	if err == nil && c.provider == Scripted {
		if script != nil {
			return script
		}
		err = &cairn.Error{Code: BadName, Message: "this program has no script", Next: forms}
	}
	if err == nil {
		err = Check(name)
	}
	if err != nil {
		return missing{name, err}
	}
	known.Lock()
	defer known.Unlock()
	m := known.models[c]
	if m == nil {
		m = c.build()
		known.models[c] = m
	}
	return m
}

// known are the models built so far.
var known = struct {
	sync.Mutex
	models map[choice]loop.Model
}{models: map[choice]loop.Model{}}

func (c choice) build() loop.Model {
	switch c.provider {
	case "anthropic":
		return anthropic.New(anthropic.Config{Model: c.model})
	case "openai":
		return openai.New(openai.Config{Model: c.model})
	}
	return openai.New(openai.Config{Model: c.model, BaseURL: c.base, Key: os.Getenv(ChatKey), Chat: true, Provider: "chat"})
}

// missing is a model that can't be asked.
type missing struct {
	name string
	why  error
}

// Info has the name, and no identity: nothing comes of it.
func (m missing) Info() loop.Info {
	provider, model, _ := strings.Cut(m.name, ":")
	return loop.Info{Provider: provider, Models: []string{cmp.Or(model, provider)}}
}

func (missing) Structures(json.RawMessage) bool { return false }

// Call tells why; no later attempt of this process does better.
func (m missing) Call(context.Context, loop.Window) (loop.Turn, error) {
	f := cairn.FailureOf(m.why)
	return loop.Turn{}, &cairn.Failure{Code: f.Code, Permanent: true, Message: m.why.Error()}
}
