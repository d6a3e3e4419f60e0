package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine/rehearsal"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/task/agent/contextlint"
	"github.com/cairnrun/cairn/task/agent/window"
)

// linted is what lint-context --json shows.
type linted struct {
	Workflow string `json:"workflow"`
	// Agents counts the tasks of agents that were looked at, Tasks are their paths.
	Agents   int                   `json:"agents"`
	Tasks    []string              `json:"tasks"`
	Findings []contextlint.Finding `json:"findings"`
	// Skipped is what was not looked at.
	Skipped []unseen `json:"skipped"`
}

// unseen is a task or a scope of which something was not looked at: what, and Why. Without a Path it is of the whole run.
type unseen struct {
	Path string `json:"path,omitempty"`
	Why  string `json:"why"`
}

func (a *app) lintContext() *cobra.Command {
	var input string
	var strict bool
	c := &cobra.Command{
		Use:   "lint-context WORKFLOW",
		Short: "Warn of what will make the windows of a workflow's agents dear or confusing, before anything runs",
		Long: `Warn of what will make the windows of a workflow's agents dear or confusing, before anything runs: a clock or an id in the
prefix, a varying tool set, unsorted JSON, run data in the prompt of a task that is cached globally, tool definitions over 10 % of
the window, more than 20 tools, tools whose descriptions overlap, near-duplicate examples.

The workflow is played with its example input, or --input, several times as runs with other ids at other times: each task ends at once
with an output that is made up from its schema, so that what comes behind it is mounted too, both sides of branches, catches
and the second iteration of loops among it; then once more with outputs that say no where the first ones say yes. No body, agent or
tool is called, no model is asked, and nothing is written. Tools that come from a memory count, without a look into it. What could not be reached, such
as a prompt that does not take what was made up, is told as "not seen". Warnings do not change the exit code, unless --strict makes it 1.`,
		Example: "lint-context review\nlint-context review --strict",
		Args:    takes("WORKFLOW"),
		RunE: func(c *cobra.Command, args []string) error {
			def, err := a.workflow(args[0])
			if err != nil {
				return err
			}
			raw, err := a.input(c.Context(), def, input, c.Flags().Changed("input"))
			if err != nil {
				return err
			}
			out, err := lint(c.Context(), def, raw, time.Now())
			if err != nil {
				return err
			}
			if a.json {
				err = a.put(out)
			} else {
				err = out.write(a.out)
			}
			if err == nil && strict && len(out.Findings) > 0 {
				err = status(ExitFailed)
			}
			return err
		},
	}
	c.Flags().StringVar(&input, "input", "", inputUsage)
	c.Flags().BoolVar(&strict, "strict", false, "exit with 1 if there is a warning")
	return c
}

// Renders that are compared, and the time between them: they differ in the day, the hour and the second. Two are enough for a clock; it
// takes more to see that a list comes out of a map.
const (
	lintRenders = 8
	lintStep    = 25*time.Hour + 61*time.Second
)

// lintTime is how long a workflow is played, at most.
const lintTime = 10 * time.Second

// lint plays a workflow and looks at how its agents would begin.
func lint(ctx context.Context, def cairn.Definition, input json.RawMessage, now time.Time) (*linted, error) {
	playing, cancel := context.WithTimeout(ctx, lintTime)
	defer cancel()
	cast := &cast{}
	seen, err := played(playing, def, input, now, cast.sample)
	if err != nil {
		return nil, err
	}
	if cast.contrary {
		other, err := played(playing, def, input, now, cast.other)
		if err != nil {
			return nil, err
		}
		seen.add(other)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return seen.report(def.Name), nil
}

// sights are the tasks of agents that were looked at, by when they were mounted.
type sights struct {
	tasks  []*sight
	at     map[string]*sight
	missed []unseen
}

// sight is one, and why not all of it was seen.
type sight struct {
	contextlint.Task
	why string
}

// played is what a workflow shows of its agents, in all renders that are compared.
func played(ctx context.Context, def cairn.Definition, input json.RawMessage, now time.Time, output func(*cairn.TaskSpec) (json.RawMessage, error)) (*sights, error) {
	seen := &sights{at: map[string]*sight{}}
	for i := range lintRenders {
		run, now := fmt.Sprintf("lint-%d-%s", i+1, def.Name), now.Add(time.Duration(i)*lintStep)
		shown, err := rehearsal.Play(ctx, def, rehearsal.Config{Run: run, Now: now, Input: input, Output: output})
		if err != nil {
			return nil, err
		}
		for _, one := range shown.Tasks {
			if !one.Task.Prompted {
				continue
			}
			opening, why := begins(one)
			s := seen.at[one.Path]
			if s == nil {
				policy, cached, err := cache.Of(one.Task.Policy)
				if err != nil {
					return nil, err
				}
				s = &sight{contextlint.Task{Path: one.Path, Input: input, Global: cached && policy.Scope == cache.Global}, why}
				seen.put(s)
			}
			s.Renders = append(s.Renders, contextlint.Render{Opening: opening, Run: run, Now: now})
		}
		for _, m := range shown.Missed {
			seen.miss(unseen{m.Path, oneLine(m.Why)})
		}
	}
	return seen, nil
}

func (s *sights) put(one *sight) {
	s.tasks = append(s.tasks, one)
	s.at[one.Path] = one
}

// miss takes down what was not reached, once for each place.
func (s *sights) miss(one unseen) {
	if !slices.ContainsFunc(s.missed, func(other unseen) bool { return other.Path == one.Path }) {
		s.missed = append(s.missed, one)
	}
}

// add takes what another play shows and this one does not.
func (s *sights) add(other *sights) {
	for _, one := range other.tasks {
		switch mine := s.at[one.Path]; {
		case mine == nil:
			s.put(one)
		case mine.why != "" && one.why == "":
			*mine = *one
		}
	}
	for _, one := range other.missed {
		s.miss(one)
	}
}

// report is what is to be said of all.
func (s *sights) report(workflow string) *linted {
	out := &linted{Workflow: workflow, Agents: len(s.tasks), Tasks: []string{}, Findings: []contextlint.Finding{}, Skipped: []unseen{}}
	var tasks []contextlint.Task
	for _, one := range s.tasks {
		out.Tasks = append(out.Tasks, one.Path)
		if tasks = append(tasks, one.Task); one.why != "" {
			out.Skipped = append(out.Skipped, unseen{one.Path, one.why})
		}
	}
	out.Skipped = append(out.Skipped, s.missed...)
	out.Findings = append(out.Findings, contextlint.Check(tasks)...)
	return out
}

// begins is how a task's conversation would begin, as far as it can be told, and why not further. A panic is of the agent's code.
func begins(t rehearsal.Task) (opening window.Opening, why string) {
	var prompt string
	input := t.Input
	switch err := json.Unmarshal(input, &prompt); {
	case t.Failure != nil && t.Started:
		why = "its prompt, which can't be made with outputs that are made up: " + brief(t.Failure)
	case t.Failure != nil:
		why = "its prompt, which can't be made yet: " + brief(t.Failure)
	case err != nil:
		return opening, "its prompt, which is no text: " + oneLine(err.Error())
	}
	if t.Failure != nil {
		input = json.RawMessage(`""`)
	}
	alone := window.Opening{First: window.Message{Role: window.User}}
	if prompt != "" {
		alone.First.Blocks, alone.Parts = []window.Block{{Kind: window.Text, Text: prompt}}, []window.Part{window.PartPrompt}
	}
	var tools []cairn.Tool
	if m := t.Task.Policy.Memory; m != nil {
		tools = memory.Tools(*m)
	}
	for _, one := range tools {
		alone.Setup.Tools = append(alone.Setup.Tools, window.ToolOf(one))
	}
	if t.Task.Describe == nil {
		return alone, strings.TrimPrefix(why+"; its agent, which does not tell how it begins", "; ")
	}
	described, err := describe(t.Task, input, tools)
	if err != nil {
		return alone, "its agent, which can't tell how it begins: " + oneLine(err.Error())
	}
	opening, ok := described.(window.Opening)
	if !ok {
		return alone, fmt.Sprintf("its agent, which begins with a %T that nobody here can read", described)
	}
	return opening, why
}

// describe asks an agent, whose code may not take a prompt that is made up.
func describe(t *cairn.TaskSpec, input json.RawMessage, tools []cairn.Tool) (described any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics: %v", p)
		}
	}()
	return t.Describe(input, tools)
}

// write shows what was found to people.
func (out *linted) write(w io.Writer) error {
	var b strings.Builder
	for _, f := range out.Findings {
		fmt.Fprintf(&b, "%s  %s\n    %s\n    why: %s\n    do:  %s\n", f.Code, strings.Join(f.Paths, ", "), f.What, f.Why, f.Do)
	}
	for _, s := range out.Skipped {
		fmt.Fprintf(&b, "not seen  %s\n", strings.TrimPrefix(s.Path+": "+s.Why, ": "))
	}
	fmt.Fprintf(&b, "%s of %s", count(out.Agents, "agent task"), out.Workflow)
	if out.Agents > 0 {
		b.WriteString(": " + count(len(out.Findings), "warning"))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
