package local

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
)

var _ memory.Embedder = (*Model)(nil)

// open loads the model directory that CAIRN_MODEL names.
func open(t *testing.T) *Model {
	t.Helper()
	dir := os.Getenv("CAIRN_MODEL")
	if dir == "" {
		t.Skip("CAIRN_MODEL names no directory with model.onnx and tokenizer.json")
	}
	m, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func TestEmbed(t *testing.T) {
	m := open(t)
	texts := []string{"The database ran out of disk space.", "Storage was full, so Postgres stopped.", "We had pancakes for breakfast.",
		"", strings.Repeat("! ", 4000), "备份数据库 \xff\x00 🙂"}
	got, err := m.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if n := math.Sqrt(rankDot(v)); len(v) != m.Dim() || math.Abs(n-1) > 1e-3 {
			t.Errorf("vector %d has %d numbers and length %g", i, len(v), n)
		}
	}
	near, far := rank.Cosine(got[0], got[1]), rank.Cosine(got[0], got[2])
	t.Logf("%s: the same in other words %.2f, something else %.2f", m.Model(), near, far)
	if near < far+.2 {
		t.Errorf("the same in other words %.2f, something else %.2f", near, far)
	}
	one, err := m.Embed(t.Context(), texts[:1])
	if err != nil || rank.Cosine(one[0], got[0]) < .9999 {
		t.Errorf("a text alone and in a batch: %v, cosine %g", err, rank.Cosine(one[0], got[0]))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Embed(ctx, texts); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	if _, err := m.Embed(t.Context(), texts); err == nil {
		t.Error("a closed model makes vectors")
	}
}

func rankDot(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

func TestOpenFails(t *testing.T) {
	empty := t.TempDir()
	bad := t.TempDir()
	if err := errors.Join(os.WriteFile(bad+"/model.onnx", []byte("no model"), 0o600), os.WriteFile(bad+"/tokenizer.json", []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{empty, bad, empty + "/none"} {
		if m, err := Open(Config{Dir: dir}); err == nil {
			_ = m.Close()
			t.Errorf("%s is a model", dir)
		}
	}
}
