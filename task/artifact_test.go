package task_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

func TestArtifacts(t *testing.T) {
	var m machine
	result, err := m.try(t, body(func(ctx context.Context) error {
		for _, name := range []string{"b.md", "a.md", "b.md"} { // what is written again is listed once
			written, err := task.WriteArtifact(ctx, name, "text/markdown", strings.NewReader("# "+name))
			if err != nil {
				return err
			}
			r, err := task.ReadArtifact(ctx, written)
			if err != nil {
				return err
			}
			defer r.Close()
			if content, err := io.ReadAll(r); err != nil || string(content) != "# "+name {
				t.Errorf("read %q, %v", content, err)
			}
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := names(result); got != "b.md a.md | " {
		t.Errorf("listed %s", got)
	}
	sum := sha256.Sum256([]byte("# b.md"))
	want := cairn.Artifact{
		Name: "b.md", Hash: hex.EncodeToString(sum[:]), Size: 6, MediaType: "text/markdown", Producer: "work/step",
	}
	if result.Artifacts[0] != want {
		t.Errorf("listed %+v", result.Artifacts[0])
	}
}

func TestArtifactsSideBySide(t *testing.T) {
	var m machine
	result, err := m.try(t, body(func(ctx context.Context) error {
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				if _, err := task.WriteArtifact(ctx, fmt.Sprint(i), "", strings.NewReader(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		return nil
	}))
	if err != nil || len(result.Artifacts) != 20 {
		t.Errorf("%v, %d artifacts", err, len(result.Artifacts))
	}
}

// TestWrittenKnowsEarlierAttempts: what wraps an agent sees what its finished calls have written, also when they are not made again.
func TestWrittenKnowsEarlierAttempts(t *testing.T) {
	var m machine
	calls := 0
	try := func(want string) error {
		_, err := m.try(t, body(func(ctx context.Context) error {
			for _, name := range []string{"b", "a"} {
				_, err := task.Step(ctx, name, func(ctx context.Context) (bool, error) {
					calls++
					_, err := task.WriteArtifact(ctx, name+".txt", "text/plain", strings.NewReader(name))
					return err == nil, err
				})
				if err != nil {
					return err
				}
			}
			var got []string
			written, err := task.Written(ctx)
			for _, a := range written {
				got = append(got, a.Name)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%v, want %s", got, want)
			}
			return errors.Join(err, errors.New("again"))
		}))
		return err
	}
	for range 2 {
		if err := try("a.txt b.txt"); err == nil || err.Error() != "again" {
			t.Fatal(err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
	if written, err := task.Written(t.Context()); written != nil || err != nil {
		t.Errorf("outside of a task: %v, %v", written, err)
	}
}

func TestArtifactErrors(t *testing.T) {
	text := strings.NewReader("x")
	if _, err := task.WriteArtifact(t.Context(), "a", "", text); err == nil || !strings.Contains(err.Error(), "no attempt of a task") {
		t.Errorf("write outside of a task: %v", err)
	}
	if _, err := task.ReadArtifact(t.Context(), cairn.Artifact{Hash: "h"}); err == nil || !strings.Contains(err.Error(), "no attempt of a task") {
		t.Errorf("read outside of a task: %v", err)
	}
	bare := cairn.WithCall(t.Context(), &cairn.Call{})
	if _, err := task.WriteArtifact(bare, "a", "", text); err == nil || !strings.Contains(err.Error(), "no store") {
		t.Errorf("write without a store: %v", err)
	}
	var m machine
	ctx := cairn.WithCall(t.Context(), m.call()) // not from a task's Run: stored, and listed nowhere
	if _, err := task.WriteArtifact(ctx, "a", "", text); err != nil {
		t.Errorf("write under a call: %v", err)
	}
	for name, content := range map[string]io.Reader{"": text, "a/b": text, "nothing": nil, "broken": iotest.ErrReader(errors.New("torn"))} {
		result, err := m.try(t, body(func(ctx context.Context) error {
			_, err := task.WriteArtifact(ctx, name, "", content)
			if err == nil {
				t.Errorf("artifact %q is taken", name)
			}
			return nil
		}))
		if err != nil || result.Artifacts != nil {
			t.Errorf("artifact %q: %v, listed %v", name, err, result.Artifacts)
		}
	}
	for _, hash := range []string{"", "unknown"} {
		if _, err := task.ReadArtifact(ctx, cairn.Artifact{Name: "a", Hash: hash}); err == nil {
			t.Errorf("hash %q can be read", hash)
		}
	}
}
