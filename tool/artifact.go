package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cairnrun/cairn"
)

// A Store writes an artifact for the attempt that the context carries. task.WriteArtifact is one, and the best: what it
// writes is committed with the attempt's output, and with the task.Step it is written in.
type Store func(ctx context.Context, name, mediaType string, content io.Reader) (cairn.Artifact, error)

// store is the Store that was given, or one that writes to the call's artifacts.
func (s Store) write(ctx context.Context, name, mediaType string, content io.Reader) (cairn.Artifact, error) {
	if s != nil {
		return s(ctx, name, mediaType, content)
	}
	call, err := artifacts(ctx)
	if err != nil {
		return cairn.Artifact{}, err
	}
	hash, size, err := call.Artifacts.Put(ctx, content)
	return cairn.Artifact{Name: name, Hash: hash, Size: size, MediaType: mediaType, Producer: call.Path}, err
}

// available says whether write can do anything.
func (s Store) available(ctx context.Context) bool {
	_, err := artifacts(ctx)
	return s != nil || err == nil
}

func artifacts(ctx context.Context) (*cairn.Call, error) {
	call, ok := cairn.CallFrom(ctx)
	if !ok || call.Artifacts == nil {
		return nil, &cairn.Error{Code: NoArtifacts, Message: "there is no store for artifacts here", Next: "go on without"}
	}
	return call, nil
}

// artifactRead is the name of the tool.
const artifactRead = "artifact_read"

type readArtifact struct {
	Artifact string `json:"artifact" validate:"required" jsonschema_description:"The artifact's hash, 64 hex digits."`
	From     int    `json:"from,omitempty" jsonschema:"minimum=1" jsonschema_description:"The first line, from 1. The default is 1."`
	Lines    int    `json:"lines,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many lines. The default is as many as fit."`
	Offset   int64  `json:"offset,omitempty" jsonschema:"minimum=1" jsonschema_description:"The byte to begin at, instead of a line: for lines that are too long."`
	Grep     string `json:"grep,omitempty" jsonschema_description:"Show the lines that match this regular expression (RE2) instead, with their numbers."`
	Context  int    `json:"context,omitempty" jsonschema:"minimum=0,maximum=20" jsonschema_description:"With grep: how many lines around each match."`
}

// ReadArtifact returns artifact_read, which brings back parts of what was put aside as an artifact: lines, bytes, or the lines
// that match a pattern. It reads from the artifacts of the attempt that the context carries, and whole artifacts always, so that
// a damaged one is an error and never a wrong answer. One answer has at most 15 KiB of text.
func ReadArtifact() cairn.Tool {
	return New(artifactRead, "Reads a part of an artifact: a long result that was put aside, of which you have seen the beginning.",
		func(ctx context.Context, in readArtifact) (string, error) {
			if err := in.check(); err != nil {
				return "", err
			}
			call, err := artifacts(ctx)
			if err != nil {
				return "", err
			}
			file, err := call.Artifacts.Get(ctx, in.Artifact)
			if err != nil {
				return "", unread(in.Artifact, err)
			}
			defer file.Close()
			return in.from(ctx, file)
		})
}

func (in readArtifact) check() error {
	switch {
	case len(in.Artifact) != 64 || strings.Trim(in.Artifact, "0123456789abcdef") != "":
		return &cairn.Error{Code: BadArtifact, Message: fmt.Sprintf("%.80q is no hash of an artifact", in.Artifact), Next: "give the 64 hex digits as they stand in the reference"}
	case in.Grep != "" && (in.From > 0 || in.Lines > 0 || in.Offset > 0):
		return &cairn.Error{Code: BadRange, Message: "grep searches all of the artifact", Next: "leave out from, lines and offset, or grep"}
	}
	return nil
}

func (in readArtifact) from(ctx context.Context, r io.Reader) (string, error) {
	name, max := "artifact "+in.Artifact[:12], FileLimits{}.filled().MaxAnswer
	if in.Grep == "" {
		part := span{From: in.From, Lines: in.Lines, Offset: in.Offset, Max: max}
		found, err := part.read(ctx, r, 0)
		if err != nil {
			return "", unread(in.Artifact, err)
		}
		return found.render(name, part, found.size)
	}
	g, err := newGrep(in.Grep, in.Context, max)
	if err != nil {
		return "", err
	}
	if err := g.search(ctx, "", r); err != nil {
		return "", unread(in.Artifact, err)
	}
	return name + ": " + g.render(), nil
}

func unread(hash string, err error) error {
	var known *cairn.Error
	if errors.As(err, &known) {
		return &cairn.Error{Code: known.Code, Message: "the artifact can't be read", Err: err, Next: cmp.Or(known.Next, "go on without it")}
	}
	return &cairn.Error{Code: Failed, Message: "artifact " + hash[:12], Err: err, Next: "go on without it"}
}
