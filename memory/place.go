package memory

import (
	"fmt"
	"slices"
)

// Place is where an item is: what all lanes have in common.
type Place struct {
	// Namespace says whose the item is. Required.
	Namespace Namespace `json:"namespace"`
	// Bank is who recalls it. Empty: nobody does, it is read by name.
	Bank string `json:"bank,omitempty"`
	// Tags narrow what a bank's readers are shown; at most MaxTagged. Stores keep them sorted, each once.
	Tags []string `json:"tags,omitempty"`
}

// Resolve returns the place with its tags sorted and without repetitions, or what is wrong with it.
func (p Place) Resolve() (Place, error) {
	if err := p.Namespace.Check(); err != nil {
		return p, err
	}
	if p.Bank != "" {
		if err := CheckName("a bank", p.Bank); err != nil {
			return p, err
		}
	}
	for _, tag := range p.Tags {
		if err := CheckName("a tag", tag); err != nil {
			return p, err
		}
	}
	tags := slices.Compact(slices.Sorted(slices.Values(p.Tags)))
	if len(tags) > MaxTagged {
		return p, tooLarge(fmt.Sprintf("%d different tags", len(tags)), fmt.Sprintf("use at most %d", MaxTagged))
	}
	p.Tags = tags
	return p, nil
}

// Origin is which attempt of a task an item came from. All of it is empty for what a person wrote.
type Origin struct {
	Run  string `json:"run,omitempty"`
	Path string `json:"path,omitempty"`
	// Attempt counts from 1.
	Attempt int `json:"attempt,omitempty"`
}

// Check is INVALID_ITEM or MEMORY_TOO_LARGE for an origin that can't be one. Runs and paths may have up to four times MaxName.
func (o Origin) Check() error {
	if o.Attempt < 0 {
		return contradictory(fmt.Sprintf("attempt %d", o.Attempt), "count from 1")
	}
	if err := checkText("a run's id", o.Run, 4*MaxName); err != nil {
		return err
	}
	return checkText("a task's path", o.Path, 4*MaxName)
}
