package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// file is a primer as the memory tool shows it.
type file struct {
	at filePlace
	// Note is its current version; visible are all that the reader is shown, which is more than one where versions of a
	// branch and of main, or of several namespaces, stand side by side.
	Note
	visible []Note
}

// keyOf names a version of a file.
func keyOf(n Note) string { return n.Namespace.String() + "\n" + n.ID }

// shelf is the files of some banks at one time.
type shelf struct {
	files map[filePlace]*file
	// odd counts the pinned notes of a bank whose ids are no paths.
	odd map[string]int
}

// look reads the files of the banks. What tags hide from a recall is hidden here.
func look(ctx context.Context, store Store, banks, tags []string) (*shelf, error) {
	s := &shelf{files: map[filePlace]*file{}, odd: map[string]int{}}
	for _, bank := range banks {
		filter := RecallFilter(bank, tags, nil)
		notes, err := store.Notes(ctx, Scope{Bank: bank, Tags: filter, Pinned: true})
		if err != nil {
			return nil, fmt.Errorf("memory: the files of bank %s: %w", bank, err)
		}
		for _, n := range notes {
			id, _ := PrimerOf(n.ID)
			if notAFile(id) != "" {
				s.odd[bank]++
				continue
			}
			at := filePlace{bank, id}
			if s.files[at] == nil {
				s.files[at] = &file{at: at}
			}
			s.files[at].visible = append(s.files[at].visible, n)
		}
		for at, f := range s.files {
			if at.bank == bank {
				f.Note, _ = CurrentPrimer(f.visible, filter)
			}
		}
	}
	return s, nil
}

// count is how many files a bank has.
func (s *shelf) count(bank string) int { return len(s.below(filePlace{bank: bank})) }

// below are the files in a directory and in those below it, by path.
func (s *shelf) below(at filePlace) (list []*file) {
	for _, f := range s.files {
		if (at.bank == "" || f.at.bank == at.bank) && (at.name == "" || strings.HasPrefix(f.at.name, at.name+"/")) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *file) int {
		if c := strings.Compare(a.at.bank, b.at.bank); c != 0 {
			return c
		}
		return strings.Compare(a.at.name, b.at.name)
	})
	return list
}

// under is the file that a place would be in, as if it were a directory; nil without one.
func (s *shelf) under(at filePlace) *file {
	for i, c := range at.name {
		if f := s.files[filePlace{at.bank, at.name[:i]}]; c == '/' && f != nil {
			return f
		}
	}
	return nil
}

// draft is a note of a file that has no number yet.
type draft struct {
	at filePlace
	Note
}

// numbered gives each draft the next version of its file. Who takes it meanwhile, in whatever process, has the same id, and one
// of the two is refused.
func numbered(ctx context.Context, store Store, s *shelf, drafts []draft) ([]Note, error) {
	notes := make([]Note, len(drafts))
	for i, d := range drafts {
		first := 1
		if f := s.files[d.at]; f != nil {
			for _, n := range f.visible {
				if _, version := PrimerOf(n.ID); n.Namespace == d.Namespace && version >= first {
					first = version + 1
				}
			}
		}
		version, err := free(first, func(version int) (bool, error) {
			_, err := store.GetNote(ctx, d.Namespace, VersionID(d.at.name, version))
			if errors.Is(err, NotFound) {
				return false, nil
			}
			return true, err
		})
		if err != nil {
			return nil, fmt.Errorf("memory: the versions of %s: %w", d.at.name, err)
		}
		notes[i] = d.Note
		notes[i].ID = VersionID(d.at.name, version)
	}
	return notes, nil
}

// free is a number from first on that is not taken, found in steps that double: a file that was deleted may have thousands.
func free(first int, taken func(int) (bool, error)) (int, error) {
	low, step := first, 1 // everything below low is taken, as far as it matters
	for {
		is, err := taken(low + step - 1)
		if err != nil {
			return 0, err
		}
		if !is {
			break
		}
		low, step = low+step, 2*step
	}
	for high := low + step - 1; low < high; {
		middle := low + (high-low)/2
		is, err := taken(middle)
		if err != nil {
			return 0, err
		}
		if is {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// successor is a draft of what a file becomes: it replaces all versions that its writer sees, and is forgotten with them.
func (s *shelf) successor(f *file, ns Namespace, tags []string, origin Origin) draft {
	n := Note{Place: Place{Namespace: ns, Bank: f.at.bank, Tags: tags}, Type: f.Type, Title: f.Title, Valid: f.Valid, Pinned: true, Status: Accepted, Origin: origin}
	for _, old := range f.visible {
		if old.Namespace == ns && len(n.Supersedes) < MaxLinks {
			n.Supersedes = append(n.Supersedes, old.ID)
		}
	}
	n.Sources = slices.Clone(n.Supersedes)
	return draft{f.at, n}
}

// epitaphs are what a file that goes leaves: notes that replace it and that never hold. So it is gone for who is shown them,
// it can be seen who did it, and nothing is destroyed.
func (s *shelf) epitaphs(f *file, tags []string, origin Origin, text string) (list []draft) {
	done := map[Namespace]bool{}
	for _, n := range f.visible {
		if done[n.Namespace] {
			continue
		}
		done[n.Namespace] = true
		d := s.successor(f, n.Namespace, tags, origin)
		d.Body, d.Valid = text, Span{To: longAgo}
		list = append(list, d)
	}
	return list
}

// expected are the files that drafts are about, as they were when the drafts were made.
func (s *shelf) expected(drafts []draft, tags []string) (list []Expected) {
	done := map[filePlace]bool{}
	for _, d := range drafts {
		if done[d.at] {
			continue
		}
		done[d.at] = true
		e := Expected{Bank: d.at.bank, ID: d.at.name, Filter: RecallFilter(d.at.bank, tags, nil)}
		if f := s.files[d.at]; f != nil {
			for _, n := range f.visible {
				e.Notes = append(e.Notes, Ref{Namespace: n.Namespace, Lane: NoteLane, ID: n.ID})
			}
		}
		list = append(list, e)
	}
	return list
}

// kept makes sure that notes were taken: what is word for word what a person has rejected is not.
func kept(ctx context.Context, store Store, notes []Note) error {
	for _, n := range notes {
		_, err := store.GetNote(ctx, n.Namespace, n.ID)
		if errors.Is(err, NotFound) {
			id, _ := PrimerOf(n.ID)
			return refused(Exists, "Error: This very change of %s was rejected before by a person. Nothing was changed: go on without it, or say something else.", id)
		}
		if err != nil {
			return fmt.Errorf("memory: the file %s: %w", n.ID, err)
		}
	}
	return nil
}

// originOf says which attempt writes.
func originOf(call *cairn.Call) Origin {
	return Origin{Run: call.Run, Path: call.Path, Attempt: call.Attempt}
}
