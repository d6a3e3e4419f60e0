// Package secret keeps credentials out of what is stored and told. A server may say back what it was sent, in an error, a header or an
// answer; whoever passes on its words cuts the credentials out first, before anything is shortened: a piece of a key is told, too.
package secret

import (
	"cmp"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
)

// least is how long a secret must be to be cut out: shorter ones would be found in innocent words.
const least = 8

// names are those of headers and variables that hold credentials.
var names = regexp.MustCompile(`(?i)auth|key|token|secret|passw|passphrase|credential|cookie|session|signature`)

// Named says whether a header or a variable of this name holds a credential, as far as names tell.
func Named(name string) bool { return names.MatchString(name) }

// Of are the credentials among headers, each whole and without the scheme before it.
func Of(h http.Header) (secrets []string) {
	for name, values := range h {
		if !Named(name) {
			continue
		}
		for _, value := range values {
			secrets = append(secrets, value)
			if _, token, two := strings.Cut(value, " "); two {
				secrets = append(secrets, token)
			}
		}
	}
	return secrets
}

// OfEnvironment are the credentials among variables that a child is given: those named in inherit, which this process has, and env,
// as NAME=value.
func OfEnvironment(inherit, env []string) (secrets []string) {
	for _, name := range inherit {
		if Named(name) {
			secrets = append(secrets, os.Getenv(name))
		}
	}
	for _, pair := range env {
		if name, value, _ := strings.Cut(pair, "="); Named(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// Redact cuts secrets out of a text, the longest first. Those of less than 8 bytes are left.
func Redact(text string, secrets ...string) string {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range secrets {
		if len(s) >= least {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	return text
}
