package memory

import (
	"fmt"
	"strings"
)

// Kind is what a namespace is of. It is a label: a store treats all kinds alike.
type Kind string

// The kinds of namespaces.
const (
	WorkflowKind Kind = "workflow"
	AgentKind    Kind = "agent"
	UserKind     Kind = "user"
	GlobalKind   Kind = "global"
)

// Kinds are all of them, in the order of their names.
var Kinds = [...]Kind{AgentKind, GlobalKind, UserKind, WorkflowKind}

// Namespace is whose an item is, printed workflow:code-review. The id is any printable text of at most MaxName bytes,
// compared byte by byte; it may contain colons, because the first one ends the kind.
type Namespace struct {
	Kind Kind
	ID   string
}

// String is kind:id, and "" for no namespace.
func (n Namespace) String() string {
	if n == (Namespace{}) {
		return ""
	}
	return string(n.Kind) + ":" + n.ID
}

// ParseNamespace reads kind:id and nothing else: no default kind, no blanks around it. It fails with INVALID_NAME.
func ParseNamespace(s string) (Namespace, error) {
	kind, id, found := strings.Cut(s, ":")
	if !found {
		return Namespace{}, invalid(fmt.Sprintf("%.80q is no namespace", s), "write kind:id, as in workflow:code-review")
	}
	n := Namespace{Kind: Kind(kind), ID: id}
	return n, n.Check()
}

// Check is INVALID_NAME unless n has a known kind and a valid id.
func (n Namespace) Check() error {
	switch n.Kind {
	case WorkflowKind, AgentKind, UserKind, GlobalKind:
	default:
		return invalid(fmt.Sprintf("%.80q is no kind of namespace", string(n.Kind)), "use workflow, agent, user or global")
	}
	return CheckName("the id of a namespace", n.ID)
}

// MarshalText is String of a valid namespace.
func (n Namespace) MarshalText() ([]byte, error) {
	if n == (Namespace{}) {
		return nil, nil
	}
	if err := n.Check(); err != nil {
		return nil, err
	}
	return []byte(n.String()), nil
}

// UnmarshalText is ParseNamespace; nothing is no namespace.
func (n *Namespace) UnmarshalText(text []byte) (err error) {
	*n = Namespace{}
	if len(text) > 0 {
		*n, err = ParseNamespace(string(text))
	}
	return err
}
