package cairn

import (
	"fmt"
	"strconv"
	"strings"
)

// A path names a task in its run: explicit names joined by '/', where a loop adds its iteration in
// brackets: work[3]/step. The scope of a path is all before its last name; the root scope is "".
// Nodes that hold state and are no task (Try) are addressed scope#name, outside of task paths.

// Join puts a name below a scope.
func Join(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "/" + name
}

// Split is the inverse of Join: the scope of a path, and its last segment.
func Split(path string) (scope, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// Iteration is the scope of a loop's iteration i, from 0.
func Iteration(loop string, i int) string {
	return loop + "[" + strconv.Itoa(i) + "]"
}

// CutIteration splits a scope that is a loop's iteration into the loop and its number. It is false for
// any other scope.
func CutIteration(scope string) (loop string, i int, ok bool) {
	if !strings.HasSuffix(scope, "]") {
		return "", 0, false
	}
	open := strings.LastIndexByte(scope, '[')
	if open < 0 {
		return "", 0, false
	}
	i, err := strconv.Atoi(scope[open+1 : len(scope)-1])
	if err != nil || i < 0 {
		return "", 0, false
	}
	return scope[:open], i, true
}

// MaxName is the longest name of a node, in bytes.
const MaxName = 200

// CheckName says whether a string can name a node, a key or a workflow: 1 to MaxName bytes of valid text without
// '/', '[', ']', '#' and control characters, which paths need for themselves.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a name must not be empty")
	case len(name) > MaxName:
		return fmt.Errorf("name %.20q… has %d bytes, more than %d", name, len(name), MaxName)
	case strings.ToValidUTF8(name, "") != name:
		return fmt.Errorf("name %q is not valid UTF-8", name)
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return strings.ContainsRune("/[]#", r) || r < ' ' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("name %q has %q, which paths need for themselves", name, name[i:i+1])
	}
	return nil
}

// CheckPath says whether a string is a well-formed path of a task, a loop, a scope or an iteration.
func CheckPath(path string) error {
	for segment := range strings.SplitSeq(path, "/") {
		name := segment
		if loop, i, ok := CutIteration(segment); ok {
			if Iteration(loop, i) != segment {
				return fmt.Errorf("path %q: iteration of %q is not written as a plain number", path, segment)
			}
			name = loop
		}
		if err := CheckName(name); err != nil {
			return fmt.Errorf("path %q: %w", path, err)
		}
	}
	return nil
}
