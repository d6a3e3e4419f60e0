package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
)

const inputUsage = `the run's input: JSON, @file, or - for stdin (default: the workflow's example)`

// input reads what --input says, and checks it as a start does.
func (a *app) input(ctx context.Context, def cairn.Definition, flag string, given bool) (json.RawMessage, error) {
	if !given {
		return engine.ExampleInput(def)
	}
	raw := []byte(flag)
	var err error
	if name, ok := strings.CutPrefix(flag, "@"); ok {
		if raw, err = os.ReadFile(name); err != nil {
			return nil, unreadable(name, err)
		}
	} else if flag == "-" {
		if raw, err = a.stdin(ctx); err != nil {
			return nil, err
		}
	}
	return engine.CheckInput(def, raw)
}

// stdin reads to the end, or until ctx does: a terminal nobody types at must not outlive Ctrl-C.
func (a *app) stdin(ctx context.Context) ([]byte, error) {
	type read struct {
		raw []byte
		err error
	}
	done := make(chan read, 1)
	go func() {
		raw, err := io.ReadAll(a.in)
		done <- read{raw, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-done:
		if got.err != nil {
			return nil, unreadable("-", got.err)
		}
		return got.raw, nil
	}
}
