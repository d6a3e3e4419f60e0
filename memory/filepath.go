package memory

import (
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
)

// filesRoot is what the paths of the memory tool are below.
const filesRoot = "/memories"

// maxFilePath bounds a file's path in its bank, in bytes: its notes' ids end with a version.
const maxFilePath = MaxName - len("@1000000000")

// place of a file or directory: name is its path in the bank, "" for the bank as a whole. Without a bank it is what is above
// several banks.
type filePlace struct{ bank, name string }

// fileTree is how paths and banks go together: one bank is the root itself, several are directories in it.
type fileTree struct{ banks []string }

// refusal is an error in the words that models know from this tool, with a code for others.
type refusal struct {
	code cairn.Code
	text string
}

func refused(code cairn.Code, format string, args ...any) error {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

func (r *refusal) Error() string         { return r.text }
func (r *refusal) ErrorCode() cairn.Code { return r.code }
func (r *refusal) Is(target error) bool  { code, ok := target.(cairn.Code); return ok && code == r.code }

// parse reads a path as a model writes it: INVALID_NAME. There is no file system behind it, so nothing is resolved: what would
// need that is refused.
func (t fileTree) parse(path string) (filePlace, error) {
	wrong := func(why string) (filePlace, error) {
		return filePlace{}, refused(InvalidName, "Error: The path %s %s. Use a path such as %s.", shown(path), why, t.path(filePlace{t.banks[0], "notes/build.md"}))
	}
	rest, below := strings.CutPrefix(path, filesRoot)
	if !below || rest != "" && rest[0] != '/' {
		return wrong("is not below " + filesRoot)
	}
	at := filePlace{name: strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/")}
	if len(t.banks) == 1 {
		at.bank = t.banks[0]
	} else if at.name == "" {
		if rest != "" && rest != "/" {
			return wrong("has an empty part")
		}
		return at, nil
	} else {
		rest := at.name
		for _, bank := range t.banks { // the longest that fits, as a bank's name may have a slash in it
			if len(bank) > len(at.bank) && (rest == bank || strings.HasPrefix(rest, bank+"/")) {
				at = filePlace{bank, strings.TrimPrefix(rest[len(bank):], "/")}
			}
		}
		if at.bank == "" {
			return wrong("begins with none of the banks " + strings.Join(t.banks, ", "))
		}
		if at.name == "" && len(rest) > len(at.bank) {
			return wrong("has an empty part")
		}
	}
	if at.name == "" {
		if len(rest) > 1 && len(t.banks) == 1 {
			return wrong("has an empty part")
		}
		return at, nil
	}
	if why := notAFile(at.name); why != "" {
		return wrong(why)
	}
	return at, nil
}

// path is how a model writes a place.
func (t fileTree) path(at filePlace) string {
	path := filesRoot
	if len(t.banks) != 1 && at.bank != "" {
		path += "/" + at.bank
	}
	if at.name != "" {
		path += "/" + at.name
	}
	return path
}

// notAFile says why a name can't be a file's path in a bank, "" if it can.
func notAFile(name string) string {
	switch _, version := PrimerOf(name); {
	case len(name) > maxFilePath:
		return fmt.Sprintf("has more than %d bytes", maxFilePath)
	case strings.ContainsAny(name, `\%`):
		return `has a \ or a %, which could stand for something else`
	case !printable(name):
		return "has characters that don't print"
	case version > 1:
		return "ends like the number of a version"
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "has an empty part"
		case part == "." || part == "..":
			return "has a part that leads elsewhere"
		case part[0] == '.':
			return "has a part that begins with a dot"
		case strings.TrimSpace(part) != part:
			return "has blanks around a part"
		}
	}
	return ""
}

// shown is a path in a message, whatever it holds.
func shown(path string) string {
	if len(path) > MaxName {
		path = strings.ToValidUTF8(path[:MaxName], "") + "…"
	}
	if !printable(path) {
		return fmt.Sprintf("%q", path)
	}
	return path
}
