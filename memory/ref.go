package memory

import "fmt"

// Lane is one of the kinds of items.
type Lane string

// The lanes of items. A thread is an item of its own, that holds messages.
const (
	FactLane    Lane = "fact"
	ThreadLane  Lane = "thread"
	MessageLane Lane = "message"
	NoteLane    Lane = "note"
)

// Ref names one item.
type Ref struct {
	Namespace Namespace `json:"namespace"`
	Lane      Lane      `json:"lane"`
	// Thread is set for messages alone.
	Thread string `json:"thread,omitempty"`
	// ID is a fact's key, or the id of a thread, message or note.
	ID string `json:"id"`
}

// String is for people: workflow:code-review note 5f3a.
func (r Ref) String() string {
	if r.Thread != "" {
		return fmt.Sprintf("%s thread %s %s %s", r.Namespace, r.Thread, r.Lane, r.ID)
	}
	return fmt.Sprintf("%s %s %s", r.Namespace, r.Lane, r.ID)
}

// Check is INVALID_NAME unless r could name an item.
func (r Ref) Check() error {
	if err := r.Namespace.Check(); err != nil {
		return err
	}
	switch r.Lane {
	case FactLane, ThreadLane, NoteLane:
		if r.Thread != "" {
			return invalid(fmt.Sprintf("a %s is in no thread", r.Lane), "leave Thread empty")
		}
	case MessageLane:
		if err := CheckName("a thread's id", r.Thread); err != nil {
			return err
		}
	default:
		return invalid(fmt.Sprintf("%.40q is no lane", string(r.Lane)), "use fact, thread, message or note")
	}
	return CheckName("an item's id", r.ID)
}
