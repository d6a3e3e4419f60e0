package cairn_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cairnrun/cairn"
)

func TestCodes(t *testing.T) {
	if !(cairn.Codes{"A", "B"}).Has("B") || (cairn.Codes{"A"}).Has("B") || !(cairn.Codes)(nil).Has("B") {
		t.Error("Has")
	}
	if err := fmt.Errorf("x: %w", cairn.KeyType); !errors.Is(err, cairn.KeyType) || errors.Is(err, cairn.KeyMissing) {
		t.Error("a Code is an error that is matched")
	}
}

func TestError(t *testing.T) {
	err := fmt.Errorf("while starting: %w", &cairn.Error{Code: cairn.KeyType, Run: "r1", Path: "a/b", Message: "two types", Next: "rename one", Err: io.EOF})
	if !errors.Is(err, cairn.KeyType) || !errors.Is(err, io.EOF) || errors.Is(err, cairn.KeyMissing) {
		t.Error("an Error matches its code and its cause, and no other")
	}
	if want := "while starting: KEY_TYPE run r1 at a/b: two types: EOF; rename one"; err.Error() != want {
		t.Errorf("it says %q, want %q", err, want)
	}
	if got := (&cairn.Error{Code: "X"}).Error(); got != "X" {
		t.Errorf("a bare one says %q", got)
	}
}

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want cairn.Code
	}{
		{io.EOF, "FALLBACK"},
		{nil, "FALLBACK"},
		{fmt.Errorf("x: %w", cairn.KeyType), cairn.KeyType},
		{&cairn.Error{Code: "A", Err: io.EOF}, "A"},
		{fmt.Errorf("x: %w", &cairn.Failure{Code: "B"}), "B"},
		{&cairn.Error{Code: "A", Err: &cairn.Failure{Code: "B"}}, "A"}, // the outermost says it best
		{fmt.Errorf("x: %w", &cairn.Failure{Code: "B", Cause: &cairn.Failure{Code: "A"}}), "B"},
		{errors.Join(io.EOF, cairn.Code("C")), "C"},
	} {
		if got := cairn.CodeOf(c.err, "FALLBACK"); got != c.want {
			t.Errorf("CodeOf(%v) = %s, want %s", c.err, got, c.want)
		}
	}
}
