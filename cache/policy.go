package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
)

// Feature is the name that a Policy is attached under.
const Feature = "cache"

// Scope is how far a result is shared.
type Scope string

const (
	// Run, the default, shares among the tasks of one run: iterations of a loop.
	Run Scope = ""
	// Workflow shares among all runs of a workflow.
	Workflow Scope = "workflow"
	// Global shares among workflows. Tasks of different workflows can't be told to mean the same by their paths, so it
	// needs a Key.
	Global Scope = "global"
)

// String names the scope, the default too.
func (s Scope) String() string {
	if s == Run {
		return "run"
	}
	return string(s)
}

// Policy makes a task's output shareable. The zero value shares within the run, without expiry.
type Policy struct {
	Scope Scope `json:"scope,omitempty"`
	// TTL is how long a result may be used after it was stored, to the millisecond. 0 is until it is evicted.
	TTL time.Duration `json:"ttl,omitempty"`
	// Version is a part of the key: another one makes all stored results unusable.
	Version string `json:"version,omitempty"`
	// Key names what the task does, in place of its path.
	Key string `json:"key,omitempty"`
}

var _ cairn.Checker = Policy{}

// Attach makes a Policy part of a task's With.
func (p Policy) Attach() (feature string, config any) { return Feature, p }

// Check finds what is wrong with the policy, by itself and on the task.
func (p Policy) Check(t *cairn.TaskSpec) error {
	var errs []error
	switch p.Scope {
	case Run, Workflow:
	case Global:
		if p.Key == "" {
			errs = append(errs, errors.New("Scope Global needs a Key: paths of different workflows do not tell what a task does"))
		}
	default:
		errs = append(errs, fmt.Errorf("there is no Scope %q: use Run, Workflow or Global", p.Scope))
	}
	if p.TTL < 0 {
		errs = append(errs, fmt.Errorf("TTL is negative: %v; 0 is no expiry", p.TTL))
	}
	if t.Policy.SideEffect {
		errs = append(errs, errors.New("the task has side effects, which a stored result would leave out: remove the policy or SideEffect"))
	}
	if t.Anonymous {
		errs = append(errs, errors.New("the agent does not say what it is, so another model's answers could not be told from its own: "+
			"give it an Identity method, or the task a Version"))
	}
	return errors.Join(errs...)
}

// Of finds the policy that an attempt was started with. It is false where nothing may be cached: there is none, the task
// has side effects, or something with changing content, as an active memory bank, has a part in it.
func Of(p cairn.Policy) (policy Policy, ok bool, err error) {
	raw, ok := p.Config[Feature]
	if !ok || p.NoCache || p.SideEffect {
		return Policy{}, false, nil
	}
	if err := json.Unmarshal(raw, &policy); err != nil {
		return Policy{}, false, fmt.Errorf("the task's stored cache policy can't be read: %w", err)
	}
	return policy, true, nil
}
