package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task/agent/contextlint"
	"github.com/cairnrun/cairn/task/agent/window"
)

// linted is what lint-context --json shows.
type linted struct {
	Workflow string `json:"workflow"`
	// Agents counts the tasks of agents that were looked at.
	Agents   int                   `json:"agents"`
	Findings []contextlint.Finding `json:"findings"`
	// Skipped are the tasks of which something was not looked at.
	Skipped []unseen `json:"skipped"`
}

// unseen is a task of which something was not looked at: what, and Why.
type unseen struct {
	Path string `json:"path"`
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

The workflow is rendered with its example input, or --input, several times as runs with other ids at other times. Nothing is
written and no model is asked. Only what the first tree mounts is seen, and of a task whose prompt reads what is not there yet its agent
alone; that is told. Warnings do not change the exit code, unless --strict makes it 1.`,
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
			out, err := lint(def, raw, time.Now())
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

// lint renders a workflow and looks at how its agents would begin.
func lint(def cairn.Definition, input json.RawMessage, now time.Time) (*linted, error) {
	out := &linted{Workflow: def.Name, Findings: []contextlint.Finding{}, Skipped: []unseen{}}
	var tasks []contextlint.Task
	at := map[string]int{}
	for i := range lintRenders {
		run, now := fmt.Sprintf("lint-%d-%s", i+1, def.Name), now.Add(time.Duration(i)*lintStep)
		m, err := engine.RehearseAs(def, input, run, now)
		if err != nil {
			return nil, err
		}
		for _, mounted := range m.Mounted() {
			if !mounted.Task.Prompted {
				continue
			}
			opening, why := begins(mounted)
			n, known := at[mounted.Path]
			if !known {
				n = len(tasks)
				at[mounted.Path] = n
				policy, cached, err := cache.Of(mounted.Task.Policy)
				if err != nil {
					return nil, err
				}
				tasks = append(tasks, contextlint.Task{Path: mounted.Path, Input: input, Global: cached && policy.Scope == cache.Global})
				if why != "" {
					out.Skipped = append(out.Skipped, unseen{mounted.Path, why})
				}
			}
			tasks[n].Renders = append(tasks[n].Renders, contextlint.Render{Opening: opening, Run: run, Now: now})
		}
	}
	out.Agents = len(tasks)
	out.Findings = append(out.Findings, contextlint.Check(tasks)...)
	return out, nil
}

// begins is how a task's conversation would begin, as far as it can be told, and why not further.
func begins(t core.Mounted) (opening window.Opening, why string) {
	var prompt string
	input := t.Input
	if t.Failure != nil {
		why = "its prompt, which can't be made yet: " + brief(t.Failure)
		input = json.RawMessage(`""`)
	} else if err := json.Unmarshal(input, &prompt); err != nil {
		return opening, "its prompt, which is no text: " + oneLine(err.Error())
	}
	alone := window.Opening{First: window.Message{Role: window.User}}
	if prompt != "" {
		alone.First.Blocks, alone.Parts = []window.Block{{Kind: window.Text, Text: prompt}}, []window.Part{window.PartPrompt}
	}
	if t.Task.Describe == nil {
		return alone, strings.TrimPrefix(why+"; its agent, which does not tell how it begins", "; ")
	}
	described, err := t.Task.Describe(input)
	if err != nil {
		return alone, "its agent, which can't tell how it begins: " + oneLine(err.Error())
	}
	opening, ok := described.(window.Opening)
	if !ok {
		return alone, fmt.Sprintf("its agent, which begins with a %T that nobody here can read", described)
	}
	return opening, why
}

// write shows what was found to people.
func (out *linted) write(w io.Writer) error {
	var b strings.Builder
	for _, f := range out.Findings {
		fmt.Fprintf(&b, "%s  %s\n    %s\n    why: %s\n    do:  %s\n", f.Code, strings.Join(f.Paths, ", "), f.What, f.Why, f.Do)
	}
	for _, s := range out.Skipped {
		fmt.Fprintf(&b, "not seen  %s: %s\n", s.Path, s.Why)
	}
	fmt.Fprintf(&b, "%s in the first tree of %s", count(out.Agents, "agent task"), out.Workflow)
	if out.Agents > 0 {
		b.WriteString(": " + count(len(out.Findings), "warning"))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
