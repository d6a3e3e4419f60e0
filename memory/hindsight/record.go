package hindsight

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Record is one document, which replaces what the server has of it.
type Record struct {
	// Operation is the caller's id of this write, any text. The server's id is derived from it and the bank: sending a
	// record again, even after its answer was lost, has no further effect. Two records need two.
	Operation string
	// Document is its id; any text without NUL.
	Document string
	// Content must have more than white space.
	Content string
	// Context says what the content is, e.g. "digest". Optional.
	Context string
	// Tags are what filters match.
	Tags []string
	// Metadata comes back with each row.
	Metadata map[string]string
	// Time is when it happened; the zero time is when the server takes it.
	Time time.Time
}

type retainItem struct {
	Content    string            `json:"content"`
	Timestamp  string            `json:"timestamp,omitempty"`
	Context    string            `json:"context,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Document   string            `json:"document_id"`
	Tags       []string          `json:"tags,omitempty"`
	UpdateMode string            `json:"update_mode"`
}

type retainRequest struct {
	Items     []retainItem `json:"items"`
	Async     bool         `json:"async"`
	Operation string       `json:"operation_id"`
}

// OperationID is the UUID version 5 under which the server keeps a record's operation. It differs per bank, prefix
// included, since the server refuses an id that another bank has used.
func (c *Client) OperationID(bank, operation string) string {
	return uuid(c.cfg.BankPrefix+bank, operation)
}

// Retain hands a record to the server, which stores it soon: nil error and the operation's id mean that it was taken, and
// [Client.Operation] tells when it is done, or that it failed. The bank is made if it is not there.
func (c *Client) Retain(ctx context.Context, bank string, r Record) (string, error) {
	if r.Operation == "" {
		return "", invalid("a record has no operation id", "derive one from what is written, so that a repeated write is recognised")
	}
	return c.retain(ctx, bank, r, c.OperationID(bank, r.Operation))
}

func (c *Client) retain(ctx context.Context, bank string, r Record, id string) (string, error) {
	path, err := c.bankPath(bank, "memories")
	if err != nil {
		return "", err
	}
	item := retainItem{Content: clean(r.Content), Context: clean(r.Context), UpdateMode: "replace"}
	if strings.TrimSpace(item.Content) == "" {
		return "", invalid("a record of bank "+bank+" has no content", "leave it out, or delete its document")
	}
	if item.Document, err = wireDocument(r.Document); err != nil {
		return "", err
	}
	if item.Tags, err = cleanTags(r.Tags); err != nil {
		return "", err
	}
	if !r.Time.IsZero() {
		item.Timestamp = r.Time.UTC().Format(time.RFC3339Nano)
	}
	if len(r.Metadata) > 0 {
		item.Metadata = map[string]string{}
		for k, v := range r.Metadata {
			item.Metadata[clean(k)] = clean(v)
		}
	}
	var answer struct {
		Success   bool   `json:"success"`
		Operation string `json:"operation_id"`
	}
	if err := c.call(ctx, http.MethodPost, path, nil, retainRequest{Items: []retainItem{item}, Async: true, Operation: id}, &answer); err != nil {
		return "", err
	}
	if !answer.Success {
		return "", unreadable("POST "+path, http.StatusOK, errors.New("an answer without success"))
	}
	if answer.Operation != "" {
		id = answer.Operation // an old server chooses its own
	}
	return id, nil
}
