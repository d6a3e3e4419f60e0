// Package openai makes vectors with a server that speaks the embeddings call of the OpenAI API: OpenAI itself, Ollama,
// llama.cpp, vLLM, text-embeddings-inference and others.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Config says which server and which model. Model and Dim are required.
type Config struct {
	// URL is the base of the API, with the version: "https://api.openai.com/v1" if empty, "http://localhost:11434/v1" for
	// an Ollama on this machine.
	URL string
	// Key is sent as a bearer token; empty sends none. It is in no error.
	Key string
	// Model is the model's name at the server.
	Model string
	// Dim is the length of the model's vectors. An answer with vectors of another length is an error.
	Dim int
	// Shorten asks the server for vectors of Dim numbers, for models that can make shorter ones.
	Shorten bool
	// Batch is the number of texts in one request; 0 is 64.
	Batch int
	// MaxText is how much of each text is sent, in bytes, cut at a character; 0 is 8192. Servers refuse what their model
	// can't read, or cut it themselves.
	MaxText int
	// Retries is how often a request is repeated after 429, a status from 500 on, or a broken connection; 0 is 3, negative
	// is never. What the server refuses otherwise is final.
	Retries int
	// Timeout bounds one request; 0 is 30 seconds. The context given to Embed bounds all of them.
	Timeout time.Duration
	// MaxWait is the longest pause before a retry, also when Retry-After names a longer one: then the request fails at
	// once; 0 is 30 seconds.
	MaxWait time.Duration
	// HTTP sends the requests; nil is http.DefaultClient.
	HTTP *http.Client
}

// Client makes vectors over HTTP. It implements memory.Embedder and is safe for concurrent use.
type Client struct {
	config Config
	url    string
}

// maxAnswer bounds what is read of an answer, in bytes: 64 vectors of 4096 numbers take about 6 MB.
const maxAnswer = 64 << 20

// New returns a client. Nothing is sent yet.
func New(c Config) (*Client, error) {
	if c.Model == "" {
		return nil, errors.New("openai: no model named")
	}
	if c.Dim <= 0 {
		return nil, errors.New("openai: Dim must be the length of the model's vectors")
	}
	if c.URL == "" {
		c.URL = "https://api.openai.com/v1"
	}
	if !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://") {
		return nil, fmt.Errorf("openai: %q is no http or https URL", c.URL)
	}
	if c.Batch <= 0 {
		c.Batch = 64
	}
	if c.MaxText <= 0 {
		c.MaxText = 8192
	}
	if c.Retries == 0 {
		c.Retries = 3
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MaxWait <= 0 {
		c.MaxWait = 30 * time.Second
	}
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	return &Client{config: c, url: strings.TrimRight(c.URL, "/") + "/embeddings"}, nil
}

// Model returns the model's name and the length of the vectors: the same model gives others when they are shortened.
func (c *Client) Model() string { return fmt.Sprintf("%s/%d", c.config.Model, c.config.Dim) }

// Dim returns the length of the vectors.
func (c *Client) Dim() int { return c.config.Dim }

// Embed sends the texts in batches, one after the other.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(len(texts), c.config.Batch)
		vectors, err := c.batch(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		all = append(all, vectors...)
		texts = texts[n:]
	}
	return all, nil
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

type answer struct {
	Data []struct {
		Index  *int      `json:"index"`
		Vector []float32 `json:"embedding"`
	} `json:"data"`
}

func (c *Client) batch(ctx context.Context, texts []string) ([][]float32, error) {
	r := request{Model: c.config.Model, Format: "float", Input: make([]string, len(texts))}
	for i, t := range texts {
		r.Input[i] = c.clean(t)
	}
	if c.config.Shorten {
		r.Dimensions = c.config.Dim
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	raw, err := c.send(ctx, body)
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("openai: answer of %s: %w", c.url, err)
	}
	return c.vectors(a, len(texts))
}

// vectors puts those of an answer in the order of the texts, and looks at each.
func (c *Client) vectors(a answer, n int) ([][]float32, error) {
	if len(a.Data) != n {
		return nil, fmt.Errorf("openai: %s answered %d vectors for %d texts", c.url, len(a.Data), n)
	}
	out := make([][]float32, n)
	for i, d := range a.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || out[at] != nil {
			return nil, fmt.Errorf("openai: %s answered index %d twice or out of range", c.url, at)
		}
		if len(d.Vector) != c.config.Dim {
			return nil, fmt.Errorf("openai: model %s answered a vector of %d numbers, want %d", c.config.Model, len(d.Vector), c.config.Dim)
		}
		for _, x := range d.Vector {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return nil, fmt.Errorf("openai: model %s answered a vector with %v in it", c.config.Model, x)
			}
		}
		out[at] = d.Vector
	}
	return out, nil
}

// clean makes a text that servers accept: valid UTF-8 without NUL, not too long, and not empty, which some refuse.
func (c *Client) clean(t string) string {
	t = strings.ReplaceAll(strings.ToValidUTF8(t, "�"), "\x00", "")
	if len(t) > c.config.MaxText {
		n := c.config.MaxText
		for n > 0 && !utf8.RuneStart(t[n]) {
			n--
		}
		t = t[:n]
	}
	if t == "" {
		return " "
	}
	return t
}

// Error is a refusal by the server.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Message is the beginning of what the server said.
	Message string
}

// Error is what the server said.
func (e *Error) Error() string { return fmt.Sprintf("openai: HTTP %d: %s", e.Status, e.Message) }

// send posts one request, and again after a passing fault.
func (c *Client) send(ctx context.Context, body []byte) ([]byte, error) {
	for try := 0; ; try++ {
		raw, wait, err := c.post(ctx, body)
		if err == nil {
			return raw, nil
		}
		if wait < 0 || try >= c.config.Retries || ctx.Err() != nil {
			return nil, err
		}
		if wait == 0 {
			wait = min(250*time.Millisecond<<try, c.config.MaxWait)
		}
		if wait > c.config.MaxWait {
			return nil, fmt.Errorf("%w (retry after %s)", err, wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("%w, waiting to retry: %w", ctx.Err(), err)
		}
	}
}

// post sends once. The pause before a retry is negative when there should be none, 0 when the server named none.
func (c *Client) post(ctx context.Context, body []byte) (raw []byte, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, -1, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.config.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.config.Key)
	}
	res, err := c.config.HTTP.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		return nil, retryAfter(res.Header.Get("Retry-After"), time.Now()), &Error{res.StatusCode, begin(raw)}
	case res.StatusCode != http.StatusOK:
		return nil, -1, &Error{res.StatusCode, begin(raw)}
	case err != nil:
		return nil, 0, fmt.Errorf("openai: answer of %s: %w", c.url, err)
	}
	return raw, 0, nil
}

// retryAfter reads the header: seconds or a date. Without one, or with one that is past, it is 0.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.ParseFloat(strings.TrimSpace(header), 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// begin is what of an answer goes into an error.
func begin(raw []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(raw), "�")), " ")
	if len(text) > 200 {
		n := 200
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n] + "…"
	}
	return text
}
