package memory

import "time"

// Thread is a list of messages in a strict order. Its place is that of all its messages.
type Thread struct {
	Place
	// ID is unique in the namespace.
	ID string `json:"id"`
	// Title is for people, at most MaxTitle bytes.
	Title string `json:"title,omitempty"`
	// Created is set by the store.
	Created time.Time `json:"created,omitzero"`
	Origin  Origin    `json:"origin,omitzero"`
}

// Resolve returns the thread as a store keeps it, or what is wrong with it.
func (t Thread) Resolve() (Thread, error) {
	var err error
	if t.Place, err = t.Place.Resolve(); err != nil {
		return t, err
	}
	if err := CheckName("a thread's id", t.ID); err != nil {
		return t, err
	}
	if err := checkText("a thread's title", t.Title, MaxTitle); err != nil {
		return t, err
	}
	if err := checkTimes(t.Created); err != nil {
		return t, err
	}
	return t, t.Origin.Check()
}
