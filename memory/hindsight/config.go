package hindsight

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Config says where the server is. Only URL is required.
type Config struct {
	// URL is the server's base, http or https, e.g. http://127.0.0.1:8888. A path is kept.
	URL string
	// APIKey is sent as a bearer token. Empty: none.
	APIKey string
	// BankPrefix is put before each bank's name on the wire, and nowhere else.
	BankPrefix string
	// Timeout ends a single call; the context may end it earlier. 0 is 30 s.
	Timeout time.Duration
	// MaxAnswer is how many bytes of an answer are read; a longer one is an error. 0 is 8 MiB.
	MaxAnswer int64
	// HTTP sends the requests. Nil is a client of its own. Redirects are never followed, so that a key stays where it
	// was sent.
	HTTP *http.Client
}

// FromEnv reads HINDSIGHT_URL, HINDSIGHT_API_KEY and HINDSIGHT_BANK_PREFIX. It returns false where HINDSIGHT_URL is
// unset or empty: then there is no remote, and the other two mean nothing.
func FromEnv() (Config, bool) {
	c := Config{
		URL:        strings.TrimSpace(os.Getenv("HINDSIGHT_URL")),
		APIKey:     strings.TrimSpace(os.Getenv("HINDSIGHT_API_KEY")),
		BankPrefix: strings.TrimSpace(os.Getenv("HINDSIGHT_BANK_PREFIX")),
	}
	return c, c.URL != ""
}

// check returns the base without a slash at its end.
func (c Config) check() (string, error) {
	const next = "set HINDSIGHT_URL to the server's base, e.g. http://127.0.0.1:8888"
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return "", invalid("the URL of Hindsight can't be read", next) // the cause would show what stands in it
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", invalid("the URL of Hindsight has no http or https host", next)
	case u.User != nil:
		return "", invalid("the URL of Hindsight holds a user or password", "give the key in HINDSIGHT_API_KEY")
	case u.RawQuery != "" || u.Fragment != "":
		return "", invalid("the URL of Hindsight has a query or fragment", next)
	case strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "", invalid("the key of Hindsight has a space or control character in it", "copy HINDSIGHT_API_KEY again")
	}
	if c.BankPrefix != "" {
		if err := checkName("the bank prefix", c.BankPrefix); err != nil {
			return "", err
		}
	}
	return strings.TrimRight(u.String(), "/"), nil
}
