// Package credential finds what a request was authorized with, so that no error tells it.
package credential

import (
	"net/http"

	"github.com/cairnrun/cairn/internal/secret"
)

// Of are the credentials that a response was got with: also those that its transport has added, which nobody else knows, and those
// in headers of a proxy. A nil response has none.
func Of(response *http.Response) (secrets []string) {
	if response == nil || response.Request == nil {
		return nil
	}
	return secret.Of(response.Request.Header)
}
