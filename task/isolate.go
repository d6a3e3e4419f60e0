package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
)

// MaxAnswer is the most tokens of a sub-agent's answer, at four bytes a token. What is longer is put aside as an artifact.
const MaxAnswer = 2000

const (
	maxAnswerBytes = 4 * MaxAnswer
	// maxReferences is how many artifacts are named after an answer, the last ones.
	maxReferences = 20
)

// Isolate is the agent as one that works apart, in a clean window. It gets no history. Its prompt ends with a notice that
// it is alone, that only its answer comes back, and how long that may be; unless it is a Writer it has only tools without
// side effects. A text answer over MaxAnswer is cut and the whole of it kept as an artifact; after it stand references to
// the artifacts that were written. A structured one over MaxAnswer is refused: an agent that looks at Request.Check mends
// it.
//
// An agent that is no Restrictable may have tools that nobody can take away: to isolate it with Writer false is an error. So
// is one whose ReadOnly returns an agent of another type: an agent that embeds another has the method of that one, and would be
// lost with all that it does itself.
func Isolate(agent Agent, how cairn.DelegateSpec) (Agent, error) {
	if agent == nil || isNil(agent) {
		return nil, errors.New("there is no agent to delegate to")
	}
	if !how.Writer {
		r, ok := agent.(Restrictable)
		if !ok {
			return nil, fmt.Errorf("%T can't be kept from changing things, as it has no method ReadOnly: set Writer, or take an agent that has one", agent)
		}
		reader := r.ReadOnly()
		if reader == nil || isNil(reader) {
			return nil, fmt.Errorf("ReadOnly of %T returns no agent: return one of that type, without the tools that change things", agent)
		}
		if got, want := kindOf(reader), kindOf(agent); got != want {
			return nil, fmt.Errorf("ReadOnly of %T returns a %T, which is not what was to be isolated: give %s a method ReadOnly of its own that returns a %s; one that it "+
				"has by embedding leaves out what it does itself", agent, reader, want, want)
		}
		agent = reader
	}
	return isolated{agent, how}, nil
}

// kindOf is an agent's type, behind a pointer or not.
func kindOf(agent Agent) reflect.Type {
	t := reflect.TypeOf(agent)
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

type isolated struct {
	agent Agent
	how   cairn.DelegateSpec
}

// Writes are the directories of the agent's own sub-agents, and its own if it may change that.
func (i isolated) Writes() []string {
	dirs := slices.Clone(writes(i.agent))
	if i.how.Writer && !slices.Contains(dirs, i.how.Dir) {
		dirs = append(dirs, i.how.Dir)
	}
	return dirs
}

// Check is the agent's.
func (i isolated) Check(tools bool) error {
	if c, ok := i.agent.(Checker); ok {
		return c.Check(tools)
	}
	return nil
}

// Models are the agent's.
func (i isolated) Models() []string { return models(i.agent) }

// Describe is the agent's, of the request as it gets it. describer asks first whether it is one.
func (i isolated) Describe(req Request) (any, error) {
	d, ok := describer(i.agent)
	if !ok {
		return nil, fmt.Errorf("%T does not tell how it begins", i.agent)
	}
	return d.Describe(i.alone(req))
}

// alone is a request as the agent gets it.
func (i isolated) alone(req Request) Request {
	req.History = nil
	req.Prompt += "\n\n" + isolation(i.how)
	if !i.how.Writer {
		req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(t cairn.Tool) bool { return t.SideEffect })
	}
	if check := req.Check; check != nil {
		req.Check = func(output json.RawMessage) error {
			if err := tooLong(output); err != nil {
				return err
			}
			return check(output)
		}
	}
	return req
}

func (i isolated) Run(ctx context.Context, req Request) (Response, error) {
	resp, err := i.agent.Run(ctx, i.alone(req))
	switch {
	case err != nil:
	case req.Schema == nil:
		resp.Text, err = bounded(ctx, resp.Text)
	case resp.Output != nil:
		err = invalid(tooLong(resp.Output))
	default:
		err = invalid(tooLong([]byte(resp.Text)))
	}
	return resp, err
}

func invalid(err error) error {
	if err == nil {
		return nil
	}
	return invalidOutput(err, false)
}

func tooLong(output []byte) error {
	if len(output) <= maxAnswerBytes {
		return nil
	}
	return fmt.Errorf("it has %d bytes, and only %d come back: say less, put bulk into artifacts and name them", len(output), maxAnswerBytes)
}

// isolation is the notice at the end of a sub-agent's prompt. Its bytes depend on how alone.
func isolation(how cairn.DelegateSpec) string {
	var b strings.Builder
	b.WriteString("<isolation>\nYou work on this task alone. You see nothing of the conversation that it comes from, nor of others who work beside you, " +
		"and nobody can answer questions.\n")
	switch {
	case !how.Writer:
		b.WriteString("You may read and not change anything.\n")
	case how.Dir != "":
		fmt.Fprintf(&b, "Change nothing outside of the directory %s.\n", how.Dir)
	}
	fmt.Fprintf(&b, "Of all that you say only your last message comes back. It may have %d tokens: give what you have found and decided, "+
		"and refer to files and artifacts instead of copying them.\n</isolation>", MaxAnswer)
	return b.String()
}

// bounded is an answer of at most MaxAnswer tokens, and references.
func bounded(ctx context.Context, text string) (string, error) {
	written, err := Written(ctx)
	if err != nil {
		return "", err
	}
	if size := len(text); size > maxAnswerBytes {
		rest := "there is no store for the rest"
		if _, _, wrong := artifacts(ctx); wrong == nil {
			whole, err := WriteArtifact(ctx, "answer.txt", "text/plain; charset=utf-8", strings.NewReader(text))
			if err != nil {
				return "", err
			}
			rest = "all of it is the artifact " + whole.Hash
		}
		mark := fmt.Sprintf("\n[cut: the answer has %d bytes; %s]", size, rest)
		text = grapheme.Cut(text, maxAnswerBytes-len(mark)) + mark
	}
	if len(written) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.WriteString(text + "\n\n<references>\n")
	if n := len(written) - maxReferences; n > 0 {
		written = written[n:]
		fmt.Fprintf(&b, "(%d more are left out)\n", n)
	}
	for _, a := range written {
		fmt.Fprintf(&b, "artifact %s: %s, %d bytes %s\n", a.Hash, grapheme.Cut(a.Name, 80), a.Size, grapheme.Cut(a.MediaType, 60))
	}
	b.WriteString("</references>")
	return b.String(), nil
}
