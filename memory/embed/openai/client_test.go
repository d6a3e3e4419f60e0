package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cairnrun/cairn/memory"
)

var _ memory.Embedder = (*Client)(nil)

// server answers each text with a vector of its length and its place, in reverse order.
func server(t *testing.T, before func(n int, w http.ResponseWriter, r *http.Request) bool) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	calls := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(calls.Add(1))
		if before != nil && before(n, w, r) {
			return
		}
		if r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		}
		var in request
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		type item struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var out struct {
			Data []item `json:"data"`
		}
		for i := len(in.Input) - 1; i >= 0; i-- {
			if in.Input[i] == "" || !utf8.ValidString(in.Input[i]) {
				t.Errorf("sent %q", in.Input[i])
			}
			out.Data = append(out.Data, item{i, []float32{float32(len(in.Input[i])), float32(i)}})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(s.Close)
	return s, calls
}

func client(t *testing.T, s *httptest.Server, change func(*Config)) *Client {
	t.Helper()
	c := Config{URL: s.URL + "/v1/", Model: "m", Dim: 2, Batch: 2, Key: "secret", MaxWait: 2 * time.Second}
	if change != nil {
		change(&c)
	}
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestEmbed(t *testing.T) {
	s, calls := server(t, func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("Authorization %q", got)
		}
		return false
	})
	c := client(t, s, func(c *Config) { c.MaxText = 5 })
	got, err := c.Embed(t.Context(), []string{"a", "bb", "", "x\x00\xff", "ééé"})
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{1, 2, 1, 4, 4} // the empty text is a space, the invalid byte a replacement character, the last one cut
	for i, v := range got {
		if v[0] != want[i] || v[1] != float32(i%2) {
			t.Errorf("vector %d: %v", i, v)
		}
	}
	if len(got) != 5 || calls.Load() != 3 {
		t.Errorf("%d vectors by %d calls", len(got), calls.Load())
	}
	if c.Model() != "m/2" || c.Dim() != 2 {
		t.Error(c.Model(), c.Dim())
	}
	if none, err := c.Embed(t.Context(), nil); err != nil || len(none) != 0 || calls.Load() != 3 {
		t.Error(none, err)
	}
}

func TestRetries(t *testing.T) {
	tests := []struct {
		name   string
		status func(n int) (status int, after string)
		calls  int32
		failed int
	}{
		{"a busy server", func(n int) (int, string) { return map[int]int{1: 429, 2: 503}[n], "0.01" }, 3, 0},
		{"always broken", func(int) (int, string) { return 500, "0.01" }, 4, 500},
		{"a bad request", func(int) (int, string) { return 400, "" }, 1, 400},
		{"a wrong key", func(int) (int, string) { return 401, "" }, 1, 401},
		{"a long pause", func(int) (int, string) { return 429, "3600" }, 1, 429},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, calls := server(t, func(n int, w http.ResponseWriter, _ *http.Request) bool {
				status, after := tt.status(n)
				if status == 0 {
					return false
				}
				w.Header().Set("Retry-After", after)
				http.Error(w, "no\nsuch luck", status)
				return true
			})
			_, err := client(t, s, nil).Embed(t.Context(), []string{"a"})
			var refused *Error
			if tt.failed == 0 && err != nil || tt.failed != 0 && (!errors.As(err, &refused) || refused.Status != tt.failed || refused.Message != "no such luck") {
				t.Errorf("error %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the key is in %v", err)
			}
			if calls.Load() != tt.calls {
				t.Errorf("%d calls, want %d", calls.Load(), tt.calls)
			}
		})
	}
}

func TestBrokenAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"dimension":   `{"data":[{"index":0,"embedding":[1,2,3]}]}`,
		"missing":     `{"data":[]}`,
		"twice":       `{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`,
		"range":       `{"data":[{"index":-1,"embedding":[1,2]}]}`,
		"no JSON":     `<html>`,
		"too big":     `{"data":[{"index":0,"embedding":[1e99,2]}]}`,
		"an object":   `{"error":{"message":"model not loaded"}}`,
		"cut in half": `{"data":[{"index":0,"embedd`,
	} {
		s, calls := server(t, func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(answer))
			return true
		})
		texts := []string{"a"}
		if name == "twice" {
			texts = []string{"a", "b"}
		}
		if v, err := client(t, s, nil).Embed(t.Context(), texts); err == nil {
			t.Errorf("%s: %v", name, v)
		}
		if calls.Load() != 1 {
			t.Errorf("%s: %d calls", name, calls.Load())
		}
	}
}

func TestTimeouts(t *testing.T) {
	stop := make(chan struct{})
	s, calls := server(t, func(_ int, _ http.ResponseWriter, _ *http.Request) bool {
		<-stop
		return true
	})
	defer close(stop)
	slow := client(t, s, func(c *Config) { c.Timeout = 20 * time.Millisecond; c.Retries = 1 })
	if _, err := slow.Embed(t.Context(), []string{"a"}); !errors.Is(err, context.DeadlineExceeded) || calls.Load() != 2 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := client(t, s, nil).Embed(ctx, []string{"a"}); !errors.Is(err, context.DeadlineExceeded) || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

func TestShorten(t *testing.T) {
	for _, shorten := range []bool{false, true} {
		s, _ := server(t, func(_ int, w http.ResponseWriter, r *http.Request) bool {
			var in map[string]any
			_ = json.NewDecoder(r.Body).Decode(&in)
			if _, sent := in["dimensions"]; sent != shorten {
				t.Errorf("sent %v", in)
			}
			_, _ = w.Write([]byte(`{"data":[{"embedding":[1,2]}]}`))
			return true
		})
		if _, err := client(t, s, func(c *Config) { c.Shorten = shorten }).Embed(t.Context(), []string{"a"}); err != nil {
			t.Error(err)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {Model: "m"}, {Dim: 3}, {Model: "m", Dim: 3, URL: "ftp://x"}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, " 1.5 ": 1500 * time.Millisecond, "-1": 0, "soon": 0, "NaN": 0, "1e300": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}
