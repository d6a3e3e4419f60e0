package hindsight

import (
	"context"
	"net/http"
	"time"
)

// Document is what the server has of a record.
type Document struct {
	ID string
	// Text is the content as retained; empty where the server stores none (feature store_document_text).
	Text     string
	Tags     []string
	Metadata map[string]string
	// Memories is how many were made of it.
	Memories int
	Updated  time.Time
}

// Document reads one. False where it, or its bank, is not there.
func (c *Client) Document(ctx context.Context, bank, id string) (Document, bool, error) {
	path, err := c.documentPath(bank, id)
	if err != nil {
		return Document{}, false, err
	}
	var w struct {
		Text     string         `json:"original_text"`
		Tags     []string       `json:"tags"`
		Metadata map[string]any `json:"document_metadata"`
		Memories int            `json:"memory_unit_count"`
		Updated  string         `json:"updated_at"`
	}
	err = c.call(ctx, http.MethodGet, path, nil, nil, &w)
	if absent(err) {
		return Document{}, false, nil
	}
	if err != nil {
		return Document{}, false, err
	}
	d := Document{ID: id, Text: w.Text, Tags: w.Tags, Memories: w.Memories, Updated: moment(w.Updated)}
	for k, v := range w.Metadata {
		if s, ok := v.(string); ok {
			if d.Metadata == nil {
				d.Metadata = map[string]string{}
			}
			d.Metadata[k] = s
		}
	}
	return d, true, nil
}

// DeleteDocument removes a document and the memories made of it; false if it was not there. Observations and mental
// models that the server made of several documents may still tell of it until they are refreshed.
func (c *Client) DeleteDocument(ctx context.Context, bank, id string) (bool, error) {
	path, err := c.documentPath(bank, id)
	if err != nil {
		return false, err
	}
	err = c.call(ctx, http.MethodDelete, path, nil, nil, nil)
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) documentPath(bank, id string) (string, error) {
	wire, err := wireDocument(id)
	if err != nil {
		return "", err
	}
	return c.bankPath(bank, "documents", wire)
}
