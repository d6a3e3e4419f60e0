package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// keysEnv names the environment variable with the keys that memory is encrypted with.
const keysEnv = "CAIRN_MEMORY_KEY"

// howToKey is what to do about keys.
const howToKey = "set $" + keysEnv + " to id:base64 of 32 random bytes, the current key first, old ones after commas"

// memoryKeys reads the keys from the environment. None is no encryption.
func memoryKeys() (keys []lanes.Key, err error) {
	wrong := func(what string) error {
		return &cairn.Error{Code: BadUsage, Message: "$" + keysEnv + ": " + what, Next: howToKey}
	}
	text := strings.TrimSpace(os.Getenv(keysEnv))
	if text == "" {
		return nil, nil
	}
	seen := map[string]bool{}
	for i, part := range strings.Split(text, ",") {
		id, secret, _ := strings.Cut(strings.TrimSpace(part), ":")
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(secret, "="))
		switch { // never with the secret in the message
		case id == "" || err != nil:
			return nil, wrong(fmt.Sprintf("key %d is not id:base64", i+1))
		case len(raw) != 32:
			return nil, wrong(fmt.Sprintf("the secret of key %q has %d bytes, not 32", id, len(raw)))
		case seen[id]:
			return nil, wrong(fmt.Sprintf("two keys are called %q", id))
		}
		seen[id] = true
		keys = append(keys, lanes.Key{ID: id, Secret: raw})
	}
	return keys, nil
}

// keyed says what to do at the command line about an error of opening memory.
func (a *app) keyed(err error) error {
	var e *cairn.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case memory.KeyMissing:
		return &cairn.Error{Code: e.Code, Message: e.Message, Err: e.Err, Next: howToKey}
	case memory.InvalidItem: // the keys themselves are all right
		return &cairn.Error{Code: memory.KeyWrong, Message: "memory is not sealed with the first key of $" + keysEnv,
			Next: "seal it with " + a.hint("memory", "rekey") + ", or put its current key first"}
	}
	return err
}

// rekeyed is what rekey --json gives.
type rekeyed struct {
	Key    string `json:"key"`
	Sealed int    `json:"sealed"`
}

// sealedAtOnce is how many rows are sealed in one transaction.
const sealedAtOnce = 500

func (a *app) rekey() *cobra.Command {
	return &cobra.Command{
		Use:   "rekey",
		Short: "Seal all of memory with the first key of $" + keysEnv,
		Long: `Seal all of memory with the first key of $` + keysEnv + `: to encrypt it for the first time, or after a new key was put
before the old ones. Then the old ones can go. It can be stopped, and goes on when it is run again.

An encrypted memory has no full-text index: searches read and open all of a bank. It can't be made a plain one again, but
export is in clear.`,
		Example: "memory rekey\nmemory rekey --json",
		Args:    takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			keys, err := memoryKeys()
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				return &cairn.Error{Code: memory.KeyMissing, Message: "there is no key to seal with", Next: howToKey}
			}
			done := rekeyed{Key: keys[0].ID}
			_, err = a.mending(c.Context(), func(m *lanes.Store) (err error) {
				done.Sealed, err = repeated(c.Context(), sealedAtOnce, m.Rekey)
				return err
			})
			if err != nil {
				return err
			}
			return a.said(done, "sealed %s with key %s", count(done.Sealed, "row"), done.Key)
		},
	}
}

// repeated calls what works in pieces until there is nothing left to do.
func repeated(ctx context.Context, piece int, fn func(ctx context.Context, limit int) (int, error)) (total int, err error) {
	for {
		n, err := fn(ctx, piece)
		total += n
		if err != nil || n < piece {
			return total, err
		}
	}
}
