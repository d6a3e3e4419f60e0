package audit

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// module is the part of a go.mod file that a report names.
type module struct {
	path      string
	goVersion string
}

// readModule reads the go.mod in root. A directory without one is as good a
// subject as any, so that is not an error.
func readModule(root *os.Root) (module, error) {
	src, err := readFile(root, "go.mod")
	switch {
	case errors.Is(err, errTooLarge), err != nil && isLasting(err):
		return module{}, nil
	case err != nil:
		return module{}, err
	}
	return parseModule(string(src)), nil
}

// parseModule understands the two directives it needs and passes over all the
// rest, so that it can read the go.mod of a version of Go yet to come.
func parseModule(src string) module {
	var m module
	for line := range strings.Lines(src) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		switch fields[0] {
		case "module":
			m.path = unquote(fields[1])
		case "go":
			m.goVersion = unquote(fields[1])
		}
	}
	return m
}

// unquote takes the quotes off a token that has them; go.mod leaves it to the
// writer.
func unquote(token string) string {
	if plain, err := strconv.Unquote(token); err == nil {
		return plain
	}
	return token
}
