package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
)

// Main is the main function of a program with these workflows. It does not return.
//
// The first interrupt (SIGINT, SIGTERM) stops gracefully: what runs is told to stop and waited for. The second ends the
// process at once. Either way nothing that was committed is lost.
func Main(workflows ...cairn.Definer) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals...)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(ExitInterrupted)
	}()
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	os.Exit(run(ctx, name, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, workflows))
}

// Run runs one command line, without the program's name, and returns the exit code. When ctx ends it stops as on a first
// interrupt.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, workflows ...cairn.Definer) int {
	return run(ctx, "run", args, in, out, errOut, workflows)
}

func run(ctx context.Context, name string, args []string, in io.Reader, out, errOut io.Writer, workflows []cairn.Definer) int {
	a := &app{name: name, in: in, out: out, err: errOut, definers: workflows}
	// Known before the flags are parsed, so that a mistake in the flags is told in JSON, too.
	a.json = slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := a.register()
	if err == nil {
		err = root.ExecuteContext(ctx)
		if err != nil && !a.started {
			err = a.usage(err)
		}
	}
	return a.report(ctx, err)
}

// app is one command line being run.
type app struct {
	name     string
	in       io.Reader
	out, err io.Writer
	definers []cairn.Definer
	defs     []cairn.Definition
	// started: the command line was understood.
	started bool

	// Flags of all commands.
	path string
	json bool
}

// register takes the workflows' definitions. What is wrong with them is found before a database is opened.
func (a *app) register() (err error) {
	a.defs, err = engine.Definitions(a.definers...)
	return err
}

func (a *app) find(name string) (cairn.Definition, bool) {
	def, err := engine.Find(a.defs, name)
	return def, err == nil
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   a.name,
		Short: "Start, watch and mend durable runs of workflows",
		Long: `Start, watch and mend durable runs of workflows.

A run is stored step by step: it can be killed at any instant and goes on where it was.

Results go to stdout, progress and errors to stderr. Exit codes: 0 finished, 1 failed, 2 refused (nothing was
written), 3 parked, 4 blocked, 130 interrupted; the last three go on with "resume".`,
		SilenceUsage: true, SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.path, "db", "", "database file (default $CAIRN_DB, else "+defaultDB+")")
	flags.BoolVar(&a.json, "json", a.json, "one JSON object per line on stdout and stderr")
	root.AddCommand(a.up(), a.resume(), a.pause(), a.cancel(), a.ps(), a.inspect(), a.chain(), a.events(), a.frames(), a.graph(), a.why(),
		a.export(), a.imports(), a.replay(), a.workflows(), a.cache(), a.metrics(), a.node(), a.prompt(), a.effects(), a.cacheReport(), a.lintContext(), a.memory(), a.doctor())
	for _, c := range below(root) {
		if c.RunE == nil {
			continue // a group: cobra shows its help
		}
		c.Example = a.examples(c.Example)
		run := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			a.started = true
			return run(c, args)
		}
	}
	return root
}

// below lists all commands below one, those of groups in groups included.
func below(c *cobra.Command) (all []*cobra.Command) {
	for _, one := range c.Commands() {
		all = append(append(all, one), below(one)...)
	}
	return all
}

// examples indents the lines of a command's example and puts the program's name before each.
func (a *app) examples(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, "  "+a.name+" "+strings.TrimSpace(line))
	}
	return strings.Join(out, "\n")
}

// hint is a command line to type next.
func (a *app) hint(args ...string) string {
	if a.path != "" {
		args = append(args, "--db", quote(a.path))
	}
	return a.name + " " + strings.Join(args, " ")
}

// quote makes a word one for the shell.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,=") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// takes says which arguments a command has.
func takes(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == len(names):
			return nil
		case len(args) < len(names):
			missing := make([]string, 0, len(names))
			for _, name := range names[len(args):] {
				article := "a "
				if strings.ContainsAny(name[:1], "AEIOU") {
					article = "an "
				}
				missing = append(missing, article+name)
			}
			return fmt.Errorf("%s needs %s", c.Name(), strings.Join(missing, " and "))
		}
		return fmt.Errorf("%s takes %s, and %q is too many", c.Name(), count(len(names), "argument"), args[len(names)])
	}
}

// usage makes an error of a command line that cobra refused. Its suggestions come in lines of their own.
func (a *app) usage(err error) error {
	message, suggestions, _ := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	next := fmt.Sprintf("see %s --help", a.name)
	if names := strings.Fields(suggestions); len(names) > 0 {
		next = "did you mean " + strings.Join(names, " or ") + "?"
	}
	return &cairn.Error{Code: BadUsage, Message: message, Next: next}
}
