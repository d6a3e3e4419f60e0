package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/internal/secret"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/internal/toolset"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/tool"
)

// Config is what an agent is made with. Dir is required.
type Config struct {
	// Dir is the folder that the program works in.
	Dir string
	// Program is its name or path; "" is the template's.
	Program string
	// Model and System are the model, by the name it has a price under, and instructions besides the program's own.
	Model, System string
	// Args are more arguments: what the program may do, above all.
	Args []string
	// Tools are the agent's own, served together with those of the task.
	Tools []cairn.Tool
	// Offload is the most bytes of a served tool's result, or of a task.Dep in the prompt, that go to the program, where the engine
	// stores artifacts and the program can be served tools: of a longer one it gets the beginning, a reference, and artifact_read. Results
	// that it was told before are then told by a pointer. 0 is DefaultOffload, negative never, neither of them.
	Offload int
	// Todo serves the program a list of what it has to do, one for each conversation, and says it again whenever the program is asked
	// once more.
	Todo bool
	// Writer says that the program may change what is in Dir: tasks with such agents in one Dir, or in one inside of the other,
	// that could run at once are a mistake of the tree.
	Writer bool
	// ID tells conversations apart that are held in one task about equal prompts.
	ID string
	// Inherit are names of variables of this process that the program sees, keys of its provider among them; Env are more, as
	// NAME=value. Without them it sees PATH, HOME and LANG. In what it writes, values of variables whose name is that of a
	// credential (KEY, TOKEN, AUTH and the like in it) are cut out before anything is done with that, if they have 8 bytes at least.
	Inherit, Env []string
	// Repairs is how often an answer that does not fit is sent back, with what is wrong, in the same session. 0 is
	// DefaultRepairs, negative none.
	Repairs int
	// ToolTimeout is the longest a call of a served tool may take that has no Timeout of its own. 0 is DefaultToolTimeout, negative no
	// limit.
	ToolTimeout time.Duration
	// Grace is how long the program has to end when it is told to, before it is killed; 0 is DefaultGrace.
	Grace time.Duration
	// MaxLine is the most bytes of a line of output; a longer one is left out. MaxOutput is the most bytes of output in all;
	// a program that writes more is killed. 0 is DefaultMaxLine and DefaultMaxOutput.
	MaxLine   int
	MaxOutput int64
	// Observe is told what is going on, with the events of package loop; a turn is one process. It must be quick and safe
	// for concurrent use.
	Observe func(loop.Event)
}

// Defaults of Config.
const (
	DefaultRepairs     = 3
	DefaultOffload     = 16 << 10
	DefaultToolTimeout = 5 * time.Minute
	DefaultGrace       = 5 * time.Second
	DefaultMaxLine     = 16 << 20
	DefaultMaxOutput   = 256 << 20
)

// Agent is a task.Agent that is a program. It is safe for concurrent use.
type Agent struct {
	template Template
	cfg      Config
	// path is the program, secrets what must not get out, wrong why there is no working with it.
	path    string
	secrets []string
	wrong   error
}

// New makes an agent of any program that can be talked to as the template says. The program and the folder are looked for
// now; what is wrong is told by Check, and so refuses every run with the agent before it starts.
func New(t Template, c Config) *Agent {
	c.Repairs = or(c.Repairs, DefaultRepairs, 0)
	c.ToolTimeout = or(c.ToolTimeout, DefaultToolTimeout, 0)
	c.Offload = or(c.Offload, DefaultOffload, 0)
	c.Grace = or(c.Grace, DefaultGrace, 0)
	c.MaxLine = or(c.MaxLine, DefaultMaxLine, DefaultMaxLine)
	c.MaxOutput = or(c.MaxOutput, DefaultMaxOutput, DefaultMaxOutput)
	if c.Program == "" {
		c.Program = t.Program
	}
	a := &Agent{template: t, cfg: c}
	a.path, a.wrong = a.find()
	a.secrets = secret.OfEnvironment(slices.Concat(t.Inherit, c.Inherit), c.Env)
	return a
}

// or is n, or the default for 0, or none for a negative n.
func or[N int | int64 | time.Duration](n, normal, none N) N {
	switch {
	case n == 0:
		return normal
	case n < 0:
		return none
	}
	return n
}

// find looks for the program and the folder, and at all that can be wrong.
func (a *Agent) find() (path string, err error) {
	wrong := a.template.wrong()
	if a.cfg.Program == "" {
		wrong = append(wrong, "there is no Program")
	}
	if a.cfg.Dir == "" {
		wrong = append(wrong, "there is no Dir to work in")
	}
	if err := tool.Check(a.cfg.Tools...); err != nil {
		wrong = append(wrong, "the tools: "+err.Error())
	}
	if len(wrong) > 0 {
		return "", &cairn.Error{Code: Invalid, Message: fmt.Sprintf("the agent %q: %s", a.template.Name, strings.Join(wrong, "; ")), Next: "mend its configuration"}
	}
	if a.cfg.Dir, err = filepath.Abs(a.cfg.Dir); err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(a.cfg.Dir); err == nil && !info.IsDir() {
			err = errors.New("it is no folder")
		}
	}
	if err != nil {
		return "", &cairn.Error{Code: Missing, Message: fmt.Sprintf("the folder %s for %s to work in", a.cfg.Dir, a.template.Name), Err: err, Next: "make it, or name another one as Dir"}
	}
	if path, err = exec.LookPath(a.cfg.Program); err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", &cairn.Error{Code: Missing, Message: fmt.Sprintf("the program %q of the agent %s is not there", a.cfg.Program, a.template.Name), Err: err,
			Next: "install it, or give its path as Program"}
	}
	return path, nil
}

// Check says why the agent can't work: its program or folder is not there, its configuration is wrong, or there are tools,
// its own or others, and the program can't be served any.
func (a *Agent) Check(tools bool) error {
	if a.wrong != nil {
		return a.wrong
	}
	if (tools || len(a.cfg.Tools) > 0 || a.cfg.Todo) && a.template.MCP == nil {
		return &cairn.Error{Code: NoTools, Message: a.template.Name + " can't be served tools, for its template does not say how", Next: "take the tools away, or set MCP in the template"}
	}
	return nil
}

// Identity is the template and all configuration that answers depend on.
func (a *Agent) Identity() string {
	type spec struct{ Name, Description, Schema string }
	config := struct {
		Args, Resume, More          []string
		Program, Dir, Model, System string
		Tools                       []spec
		Repairs                     int
		Offload                     int
		Todo                        bool `json:",omitempty"`
		// Delegates are who works behind the tools.
		Delegates []string
		// Bound is what the tools work on, as far as they tell.
		Bound []string `json:",omitempty"`
	}{a.template.Args, a.template.Resume, a.cfg.Args, a.cfg.Program, a.cfg.Dir, a.cfg.Model, a.cfg.System, nil, a.cfg.Repairs, a.cfg.Offload, a.cfg.Todo, nil, nil}
	config.Delegates, config.Bound = toolset.Identity(a.cfg.Tools)
	for _, t := range a.cfg.Tools {
		config.Tools = append(config.Tools, spec{t.Name, t.Description, string(t.Schema)})
	}
	raw, err := schema.Encode(config) // of text and numbers: it can't fail
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return "command/1 " + a.template.Name + " " + hex.EncodeToString(sum[:8])
}

// Models are those that calls are billed under, as far as that is known, those of sub-agents behind the tools included.
func (a *Agent) Models() []string {
	return a.with(a.cfg.Model, func(d *cairn.Delegation) []string { return d.Models })
}

// Writes is Dir, if the agent is a Writer, and what sub-agents behind its tools may change.
func (a *Agent) Writes() []string {
	dir := ""
	if a.cfg.Writer {
		dir = a.cfg.Dir
	}
	return a.with(dir, func(d *cairn.Delegation) []string { return d.Writes })
}

// with is one of the agent's own, if it is not "", and what is known of the sub-agents behind the tools, each once.
func (a *Agent) with(own string, of func(*cairn.Delegation) []string) (all []string) {
	if own != "" {
		all = append(all, own)
	}
	for _, t := range a.cfg.Tools {
		if t.Delegation == nil {
			continue
		}
		for _, one := range of(t.Delegation) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// Run holds the conversation, or goes on with one that an earlier attempt has begun. See the package comment.
func (a *Agent) Run(ctx context.Context, req task.Request) (task.Response, error) {
	c, err := a.open(ctx, req)
	if err != nil {
		return task.Response{}, err
	}
	defer c.leave()
	return c.run(ctx)
}

// open finds the conversation of this agent and prompt in the task's journal.
func (a *Agent) open(ctx context.Context, req task.Request) (*conversation, error) {
	c := &conversation{agent: a, req: req}
	if call, ok := cairn.CallFrom(ctx); ok {
		c.call = *call
	}
	c.equip()
	err := a.Check(len(c.tools) > 0)
	if err == nil {
		err = tool.Check(c.tools...)
	}
	if err != nil {
		return nil, task.Permanent(err)
	}
	if a.template.native() && req.Schema != nil {
		c.native = req.Schema
		if a.template.Schema != nil {
			if converted, ok := a.template.Schema(req.Schema); ok {
				c.native = converted
			} else {
				c.native = nil
			}
		}
	}
	scope := toolcall.Scope(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", scope, a.cfg.ID, req.Prompt))
	c.id = "command." + hex.EncodeToString(sum[:6])
	if c.final = cairn.ConversationRecord; scope != "" {
		c.final = c.id + "." + c.final
	}
	if c.leave, err = journal.Enter(c.call.Journal, c.id); err != nil {
		return nil, err
	}
	if err := c.find(); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

func cut(text string, most int) string { return grapheme.Cut(text, most) }
