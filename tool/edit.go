package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/cairnrun/cairn"
)

type editFile struct {
	Path string `json:"path" validate:"required" jsonschema_description:"The file, as a path in the root."`
	Old  string `json:"old" validate:"required" jsonschema_description:"The text to replace, exactly as it stands in the file, with its white space. It must be there once: take in lines around it until it is."`
	New  string `json:"new" jsonschema_description:"What stands there afterwards."`
	All  bool   `json:"all,omitempty" jsonschema_description:"Replace every occurrence, however many there are."`
}

func (f *files) editor() cairn.Tool {
	return fileTool(f, "fs_edit", "Replaces a piece of text in a file. The rest of the file stays as it is, byte by byte.",
		func(ctx context.Context, f *files, in editFile) (string, error) {
			name, err := clean(in.Path)
			if err != nil {
				return "", err
			}
			f.changing.Lock()
			defer f.changing.Unlock()
			content, err := f.all(name)
			if err != nil {
				return "", err
			}
			count := bytes.Count(content, []byte(in.Old))
			switch {
			case in.Old == in.New:
				return "", &cairn.Error{Code: NoMatch, Message: "old and new are the same text", Next: "say what is to be different"}
			case count == 0:
				return "", &cairn.Error{Code: NoMatch, Message: fmt.Sprintf("the text is not in %s%s", quoted(name), near(string(content), in.Old)), Next: "read the file and copy the text exactly"}
			case count > 1 && !in.All:
				return "", &cairn.Error{Code: Ambiguous, Message: fmt.Sprintf("the text is in %s %d times, in lines %s", quoted(name), count, places(content, in.Old)), Next: "take in more lines around the one you mean, or set all"}
			}
			if _, err := f.replace(ctx, name, bytes.ReplaceAll(content, []byte(in.Old), []byte(in.New))); err != nil {
				return "", err
			}
			return fmt.Sprintf("%s: replaced %d, from line %d", quoted(name), count, lineOf(content, bytes.Index(content, []byte(in.Old)))), nil
		}, SideEffect())
}

// all reads a text file whole.
func (f *files) all(name string) ([]byte, error) {
	file, info, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, f.MaxFile+1))
	switch {
	case err != nil:
		return nil, wrap(name, err)
	case int64(len(content)) > f.MaxFile:
		return nil, &cairn.Error{Code: TooLarge, Message: fmt.Sprintf("%s has %d bytes, and at most %d are edited", quoted(name), info.Size(), f.MaxFile), Next: "change it with a program"}
	case bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0:
		return nil, &cairn.Error{Code: Binary, Message: quoted(name) + " is not text: it has NUL bytes", Next: "change it with a program"}
	}
	return content, nil
}

// near says where a text stands that differs in white space only, which is what goes wrong most often.
func near(content, old string) string {
	if strings.Contains(content, "\r\n") && strings.Contains(content, strings.ReplaceAll(old, "\n", "\r\n")) {
		return `, whose lines end with \r\n: write the line ends so`
	}
	want := strings.Fields(old)
	if len(want) == 0 {
		return ""
	}
	lines := strings.Split(content, "\n")
	for i := range lines {
		var got []string
		for j := i; j < len(lines) && len(got) < len(want); j++ {
			got = append(got, strings.Fields(lines[j])...)
			if len(got) == 0 || got[0] != want[0] {
				break
			}
		}
		if len(got) >= len(want) && strings.Join(got[:len(want)], " ") == strings.Join(want, " ") {
			return fmt.Sprintf("; with other white space it is in line %d", i+1)
		}
	}
	return ""
}

// places lists the lines of the first few occurrences.
func places(content []byte, old string) string {
	var all []string
	for at := 0; ; {
		i := bytes.Index(content[at:], []byte(old))
		if i < 0 {
			break
		}
		if len(all) == 10 {
			all = append(all, "…")
			break
		}
		all = append(all, fmt.Sprint(lineOf(content, at+i)))
		at += i + len(old)
	}
	return strings.Join(all, ", ")
}

func lineOf(content []byte, at int) int { return bytes.Count(content[:at], []byte("\n")) + 1 }
