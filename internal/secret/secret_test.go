package secret_test

import (
	"net/http"
	"testing"

	"github.com/cairnrun/cairn/internal/secret"
)

func TestRedact(t *testing.T) {
	h := http.Header{}
	h.Set("Authorization", "Bearer abcdefgh12")
	h.Set("X-Proxy-Token", "abcdefgh12-and-more")
	h.Set("Content-Type", "application/json")
	h.Set("X-Key", "short")
	for in, want := range map[string]string{
		"with Bearer abcdefgh12!":          "with [redacted]!",
		"with abcdefgh12, twice":           "with [redacted], twice",
		"abcdefgh12-and-more":              "[redacted]", // not the beginning of it alone
		"application/json, in short order": "application/json, in short order",
	} {
		if got := secret.Redact(in, secret.Of(h)...); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]bool{"Authorization": true, "x-api-key": true, "GITHUB_TOKEN": true, "DB_PASSWORD": true, "Cookie": true, "Accept": false, "PATH": false, "Content-Type": false} {
		if secret.Named(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
