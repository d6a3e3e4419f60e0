package hindsight

import (
	"context"
	"net/http"
)

// Version is what runs, and what it can do.
type Version struct {
	API string `json:"api_version"`
	// Features by name, e.g. "worker" and "store_document_text". A feature that a server does not name is not in it.
	Features map[string]bool `json:"features"`
}

// Version asks what runs. It needs no key.
func (c *Client) Version(ctx context.Context) (Version, error) {
	var v Version
	err := c.call(ctx, http.MethodGet, "/version", nil, nil, &v)
	return v, err
}

// Health asks whether the server and its database answer: nil if both do, HINDSIGHT_UNAVAILABLE if not.
func (c *Client) Health(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/health", nil, nil, nil)
}

// Live asks whether the server's process answers, whatever its database does.
func (c *Client) Live(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/health/live", nil, nil, nil)
}
