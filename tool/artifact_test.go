package tool_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/calltest"
	"github.com/cairnrun/cairn/tool"
)

// shelf has artifacts in memory.
type shelf struct {
	calltest.Files
	// broken ends every reading with this error instead of io.EOF.
	broken error
}

func (s *shelf) Get(ctx context.Context, hash string) (io.ReadCloser, error) {
	r, err := s.Files.Get(ctx, hash)
	if err != nil || s.broken == nil {
		return r, err
	}
	return io.NopCloser(io.MultiReader(r, failing{s.broken})), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func withArtifacts(ctx context.Context, s *shelf) context.Context {
	return cairn.WithCall(ctx, &cairn.Call{Path: "plan/step", Artifacts: s})
}

func TestArtifactRead(t *testing.T) {
	s := &shelf{}
	ctx := withArtifacts(t.Context(), s)
	hash, _, _ := s.Put(ctx, strings.NewReader("one\ntwo\nthree\n"))
	big, _, _ := s.Put(ctx, strings.NewReader(strings.Repeat("0123456789abcde\n", 4096)))
	bin, _, _ := s.Put(ctx, strings.NewReader("a\x00"))
	k := kitOf(t, tool.ReadArtifact())
	name := "artifact " + hash[:12]
	for _, tt := range []struct {
		in   in
		want string
	}{
		{in{"artifact": hash}, name + ": lines 1-3 of 3, 14 bytes in all\none\ntwo\nthree\n"},
		{in{"artifact": hash, "from": 2, "lines": 1}, name + ": lines 2-2 of 3, 14 bytes in all; goes on at line 3\ntwo\n"},
		{in{"artifact": hash, "offset": 8}, name + ": bytes 8-14 of 14, lines 3-3 of 3\nthree\n"},
		{in{"artifact": hash, "grep": "t"}, name + ": 2 matches in 1 files, 1 searched\n2:two\n3:three\n"},
		{in{"artifact": hash, "grep": "two", "context": 1}, name + ": 1 matches in 1 files, 1 searched\n1-one\n2:two\n3-three\n"},
	} {
		if got, err := k.call(ctx, "artifact_read", tt.in); err != nil || got != tt.want {
			t.Errorf("%v: got %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
	if got, err := k.call(ctx, "artifact_read", in{"artifact": big}); err != nil || len(got) > 16<<10 || !strings.Contains(got, "lines 1-960 of 4096, 65536 bytes in all; goes on at line 961") {
		t.Errorf("a long one: %.100q, %d bytes, %v", got, len(got), err)
	}
	for _, tt := range []struct {
		in   in
		code cairn.Code
	}{
		{in{"artifact": "x"}, tool.BadArtifact},
		{in{"artifact": strings.ToUpper(hash)}, tool.BadArtifact},
		{in{"artifact": strings.Repeat("0", 64)}, "ARTIFACT_NOT_FOUND"},
		{in{"artifact": hash, "from": 9}, tool.BadRange},
		{in{"artifact": hash, "from": 1, "grep": "x"}, tool.BadRange},
		{in{"artifact": hash, "grep": "("}, tool.BadPattern},
		{in{"artifact": bin}, tool.Binary},
	} {
		if got, err := k.call(ctx, "artifact_read", tt.in); !errors.Is(err, tt.code) {
			t.Errorf("%v: got %q, %v, want %s", tt.in, got, err, tt.code)
		}
	}
	k.refuses(t, "artifact_read", in{"artifact": hash}, tool.NoArtifacts)

	// A content that turns out to be damaged at its end is no answer, also if all that was asked for came before.
	s.broken = &cairn.Error{Code: "ARTIFACT_CORRUPT", Message: "another hash"}
	for _, with := range []in{{"artifact": hash, "lines": 1}, {"artifact": hash, "grep": "one"}} {
		if got, err := k.call(ctx, "artifact_read", with); !errors.Is(err, cairn.Code("ARTIFACT_CORRUPT")) {
			t.Errorf("damaged: %q, %v", got, err)
		}
	}
}
