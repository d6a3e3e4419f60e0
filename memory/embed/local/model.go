// Package local makes vectors in this process, without cgo: it runs a sentence model in the ONNX format by a Go
// implementation of its operators. It is a module of its own, so that who does without it does not carry it.
//
// No weights come with it. A model directory has model.onnx (any one .onnx file) and tokenizer.json, as sentence
// transformers are published; all-MiniLM-L6-v2 (384 numbers, 90 MB) is a good beginning. Its outputs are averaged over
// the tokens and brought to length 1, which is what that family of models expects.
//
// It is slow: from 0.1 s for a sentence on a quiet machine to several times that on a busy one. Vectors are stored by content, so
// that only new texts cost it; a recall needs one vector, of the query.
package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/knights-analytics/hugot"
	"github.com/knights-analytics/hugot/options"
	"github.com/knights-analytics/hugot/pipelines"
)

// Config says which model.
type Config struct {
	// Dir is the model directory.
	Dir string
	// MaxText is how much of each text is read, in bytes, cut at a character; 0 is 1000, about 250 tokens of English,
	// which is as far as small sentence models are trained. Time grows with it.
	MaxText int
	// Batch is the number of texts that go through the model together; 0 is 8. A call that is cancelled ends after the
	// batch at hand.
	Batch int
}

// Model makes vectors. It implements memory.Embedder; concurrent calls go one after the other.
type Model struct {
	config  Config
	name    string
	dim     int
	mu      sync.Mutex
	session *hugot.Session
	run     *pipelines.FeatureExtractionPipeline
}

// Open loads a model. That takes about a second and three times the size of the file in memory. Close it in the end.
func Open(c Config) (*Model, error) {
	if c.MaxText <= 0 {
		c.MaxText = 1000
	}
	if c.Batch <= 0 {
		c.Batch = 8
	}
	files, err := filepath.Glob(filepath.Join(c.Dir, "*.onnx"))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("local: %s has %d .onnx files, want one (weights in other formats have to be converted first)", c.Dir, len(files))
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "tokenizer.json")); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	sum, err := hash(files[0])
	if err != nil {
		return nil, err
	}
	// The graph is compiled for each shape of its input, and kept: a few shapes serve all texts, with little padding.
	lengths := []int{8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512, 1024}
	for last := 1024; last < c.MaxText+2; { // a token is a byte at least, and there is one at each end
		last *= 2
		lengths = append(lengths, last)
	}
	session, err := hugot.NewGoSession(options.WithGoMLXBatchBuckets([]int{1, c.Batch}), options.WithGoMLXSequenceBuckets(lengths))
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	m := &Model{config: c, session: session, name: strings.TrimSuffix(filepath.Base(files[0]), ".onnx") + "@" + sum[:12]}
	m.run, err = hugot.NewPipeline(session, hugot.FeatureExtractionConfig{
		ModelPath:    c.Dir,
		OnnxFilename: filepath.Base(files[0]),
		Name:         "embed",
		Options:      []hugot.FeatureExtractionOption{pipelines.WithNormalization()},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("local: %s: %w", c.Dir, err), session.Destroy())
	}
	probe, err := m.batch([]string{"a"})
	if err != nil {
		return nil, errors.Join(err, session.Destroy())
	}
	m.dim = len(probe[0])
	return m, nil
}

// Close frees the model. Calls after it fail.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run == nil {
		return nil
	}
	m.run = nil
	return m.session.Destroy()
}

// Model returns the name of the file and the beginning of its hash: other weights are another model.
func (m *Model) Model() string { return m.name }

// Dim returns the length of the vectors.
func (m *Model) Dim() int { return m.dim }

// Embed runs the texts through the model.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	// A batch is padded to its longest text: texts of one length go together.
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(texts[a]) - len(texts[b]) })
	m.mu.Lock()
	defer m.mu.Unlock()
	for places := range slices.Chunk(order, m.config.Batch) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some := make([]string, len(places))
		for i, at := range places {
			some[i] = m.cut(texts[at])
		}
		vectors, err := m.batch(some)
		if err != nil {
			return nil, err
		}
		for i, at := range places {
			out[at] = vectors[i]
		}
	}
	return out, nil
}

// batch runs some texts. A panic of the model's graph (a text longer than it has places for) is an error.
func (m *Model) batch(texts []string) (vectors [][]float32, err error) {
	if m.run == nil {
		return nil, errors.New("local: the model is closed")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("local: %s: %v", m.name, p)
		}
	}()
	out, err := m.run.RunPipeline(texts)
	if err != nil {
		return nil, fmt.Errorf("local: %s: %w", m.name, err)
	}
	if len(out.Embeddings) != len(texts) {
		return nil, fmt.Errorf("local: %s made %d vectors of %d texts", m.name, len(out.Embeddings), len(texts))
	}
	for _, v := range out.Embeddings {
		if len(v) == 0 || m.dim > 0 && len(v) != m.dim {
			return nil, fmt.Errorf("local: %s made a vector of %d numbers, want %d", m.name, len(v), m.dim)
		}
	}
	return out.Embeddings, nil
}

// cut makes a text the model can read: valid, not empty, not too long.
func (m *Model) cut(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, " "), "\x00", " ")
	if len(text) > m.config.MaxText {
		n := m.config.MaxText
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	if strings.TrimSpace(text) == "" {
		return "."
	}
	return text
}

func hash(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
