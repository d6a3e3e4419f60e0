package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Type is what kind of knowledge a note is.
type Type string

// The types of notes.
const (
	Semantic   Type = "semantic"   // what is so; the default
	Episodic   Type = "episodic"   // what happened
	Procedural Type = "procedural" // how to do it: rules
)

// Status is what people, or policies, think of a note.
type Status string

// The statuses of notes.
const (
	Proposed Status = "proposed"
	Accepted Status = "accepted" // the default
	Rejected Status = "rejected"
)

// Check is INVALID_ITEM for what is no status.
func (s Status) Check() error {
	switch s {
	case Proposed, Accepted, Rejected:
		return nil
	}
	return contradictory(fmt.Sprintf("%.40q is no status", string(s)), "use proposed, accepted or rejected")
}

// Note is a text that is never edited: what changes is whether it counts. It is replaced by notes that supersede it.
type Note struct {
	Place
	// ID is unique in the namespace. Empty, the store makes one of the content.
	ID     string `json:"id"`
	Type   Type   `json:"type"`
	Status Status `json:"status"`
	// Title is what it is about, at most MaxTitle bytes; searched like the body.
	Title string `json:"title,omitempty"`
	// Body is at most MaxText bytes.
	Body string `json:"body"`
	// Supersedes are the ids of notes of the same namespace and bank that this one replaces while it is accepted.
	Supersedes []string `json:"supersedes,omitempty"`
	// Sources are the ids of notes of the same namespace that this one is derived from. It is forgotten with any of them.
	Sources []string `json:"sources,omitempty"`
	// Valid is when the note holds.
	Valid Span `json:"valid,omitzero"`
	// Pinned makes it a primer.
	Pinned bool `json:"pinned,omitempty"`
	// Task is set on a digest: the path of the task whose result it is.
	Task string `json:"task,omitempty"`
	// Time is when what it tells of happened. Defaults to Created.
	Time time.Time `json:"time,omitzero"`
	// Created is when it was saved, Changed when its status, validity or pin last did. Set by the store.
	Created time.Time `json:"created,omitzero"`
	Changed time.Time `json:"changed,omitzero"`
	Origin  Origin    `json:"origin,omitzero"`
	// Superseded says that an accepted note replaces this one now. Set by the store, for no tags in particular.
	Superseded bool `json:"superseded,omitempty"`
}

// Resolve returns the note as a store keeps it, with its defaults, or what is wrong with it.
func (n Note) Resolve() (Note, error) {
	var err error
	if n.Place, err = n.Place.Resolve(); err != nil {
		return n, err
	}
	if n.ID != "" {
		if err := CheckName("a note's id", n.ID); err != nil {
			return n, err
		}
	}
	if n.Type == "" {
		n.Type = Semantic
	}
	if n.Status == "" {
		n.Status = Accepted
	}
	switch n.Type {
	case Semantic, Episodic, Procedural:
	default:
		return n, contradictory(fmt.Sprintf("%.40q is no type of note", string(n.Type)), "use semantic, episodic or procedural")
	}
	if err := n.Status.Check(); err != nil {
		return n, err
	}
	limit, what := MaxText, "a note's body"
	if n.Task != "" {
		limit, what = MaxDigest, "a digest"
		if n.Type != Episodic {
			return n, contradictory("a digest is "+string(n.Type), "make it episodic, or leave Task empty")
		}
	}
	if err := checkText(what, n.Body, limit); err != nil {
		return n, err
	}
	if strings.TrimSpace(n.Body) == "" {
		return n, contradictory("the note has no body", "say something")
	}
	if err := checkText("a note's title", n.Title, MaxTitle); err != nil {
		return n, err
	}
	if err := checkLinks("Supersedes", n.Supersedes); err != nil {
		return n, err
	}
	if err := checkLinks("Sources", n.Sources); err != nil {
		return n, err
	}
	if n.ID != "" && (slices.Contains(n.Supersedes, n.ID) || slices.Contains(n.Sources, n.ID)) {
		return n, contradictory("the note "+n.ID+" names itself", "name other notes")
	}
	n.Supersedes, n.Sources = slices.Sorted(slices.Values(n.Supersedes)), slices.Sorted(slices.Values(n.Sources))
	if err := n.Origin.Check(); err != nil {
		return n, err
	}
	if err := checkText("a digest's task", n.Task, 4*MaxName); err != nil {
		return n, err
	}
	if err := checkTimes(n.Time, n.Created, n.Changed); err != nil {
		return n, err
	}
	return n, n.Valid.Check()
}
