package memory

import (
	"encoding/json"
	"fmt"
	"time"
)

// Projection is a change of one document of a remote backend, which follows the store.
type Projection struct {
	// ID is the operation's: queueing it again does nothing.
	ID string `json:"id"`
	// Document is what changes. Its projections are handed out one at a time, in the order of Version.
	Document string `json:"document"`
	// Version fences: what is not above the last one done is dropped. 0 is one more than the last one queued.
	Version int64 `json:"version,omitempty"`
	// Item is what it shows; it is forgotten with it, or with its namespace, which is required.
	Item Ref `json:"item"`
	// Body is up to the backend. Empty for a deletion.
	Body json.RawMessage `json:"body,omitempty"`
	// Delete asks for the document's removal. Forget queues these by itself.
	Delete bool `json:"delete,omitempty"`
	// Claim numbers this handing out of it, from 1. Set by the store.
	Claim int64 `json:"claim,omitempty"`
	// Tries is how often it has failed, Why how the last time.
	Tries int    `json:"tries,omitempty"`
	Why   string `json:"why,omitempty"`
	// Queued, Due and Dead are set by the store. A dead one is not handed out, and does not hold up others.
	Queued time.Time `json:"queued,omitzero"`
	Due    time.Time `json:"due,omitzero"`
	Dead   bool      `json:"dead,omitempty"`
}

// Verdict is what became of a projection that was handed out.
type Verdict struct {
	// Done: the backend has taken it. Dead: it never will, and a person has to look. Neither: it is due again At.
	Done, Dead bool
	At         time.Time
	// Failed counts a try; Why says what went wrong.
	Failed bool
	Why    string
}

// Check says what is wrong with it.
func (p Projection) Check() error {
	if err := CheckName("a projection's id", p.ID); err != nil {
		return err
	}
	if p.Document == "" || len(p.Document) > 1024 {
		return invalid(fmt.Sprintf("a document's name has %d bytes", len(p.Document)), "use 1 to 1024")
	}
	if p.Version < 0 {
		return contradictory(fmt.Sprintf("version %d", p.Version), "count from 1")
	}
	if p.Item.ID == "" {
		if err := p.Item.Namespace.Check(); err != nil {
			return err
		}
	} else if err := p.Item.Check(); err != nil {
		return err
	}
	if !p.Delete && !json.Valid(p.Body) {
		return contradictory("the body of projection "+p.ID+" is no JSON", "give one JSON value")
	}
	return checkText("a projection's body", string(p.Body), 4*MaxText)
}
