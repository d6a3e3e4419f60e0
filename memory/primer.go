package memory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Primer is a text that is put before a task as it stands, a pinned note most of the time.
type Primer struct {
	Bank string `json:"bank"`
	// ID is the primer's: that of its first version.
	ID string `json:"id"`
	// Text is its body, verbatim.
	Text string `json:"text"`
	// Note is the version whose body that is. Zero for what is no note: a file, or a text of a remote backend.
	Note Ref `json:"note,omitzero"`
}

// PrimerOf takes a note's id apart: a primer keeps its id in all of its versions. The first is the note of that id, and those
// that the memory tool supersedes it with are called conventions@2, conventions@3 and so on.
func PrimerOf(note string) (id string, version int) {
	at := strings.LastIndexByte(note, '@')
	if at <= 0 {
		return note, 1
	}
	n, err := strconv.Atoi(note[at+1:])
	if err != nil || n < 2 || strconv.Itoa(n) != note[at+1:] {
		return note, 1
	}
	return note[:at], n
}

// VersionID is the id of a primer's note in a version, from 1: PrimerOf takes it apart.
func VersionID(id string, version int) string {
	if version <= 1 {
		return id
	}
	return id + "@" + strconv.Itoa(version)
}

// CurrentPrimer chooses among notes that all count and are of one primer and one bank, for a reader with a filter: what the
// filter lets through comes before what it does not, a branch's own before what is of main, the latest version before
// earlier ones, and of several namespaces the oldest note. False without any.
func CurrentPrimer(notes []Note, f Filter) (Note, bool) {
	if len(notes) == 0 {
		return Note{}, false
	}
	return slices.MinFunc(notes, func(a, b Note) int {
		_, va := PrimerOf(a.ID)
		_, vb := PrimerOf(b.ID)
		return cmp.Or(
			before(f.Passes(a.Tags), f.Passes(b.Tags)),
			before(!slices.Contains(a.Tags, mainScope), !slices.Contains(b.Tags, mainScope)),
			cmp.Compare(vb, va), a.Created.Compare(b.Created), cmp.Compare(a.Namespace.String(), b.Namespace.String()))
	}), true
}

// before puts what is so first.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
