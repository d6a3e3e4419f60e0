// Package credential finds what a request was authorized with, so that no error tells it.
package credential

import (
	"net/http"
	"strings"
)

// headers are where the providers and their clouds look for it.
var headers = []string{"Authorization", "X-Api-Key", "Api-Key"}

// Of are the credentials that a response was got with: also those that its transport has added, which nobody else knows. A
// nil response has none.
func Of(response *http.Response) (secrets []string) {
	if response == nil || response.Request == nil {
		return nil
	}
	for _, name := range headers {
		for _, value := range response.Request.Header.Values(name) {
			_, token, two := strings.Cut(value, " ")
			if !two {
				token = value
			}
			secrets = append(secrets, value, token)
		}
	}
	return secrets
}
