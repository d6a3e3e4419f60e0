package hindsight

import (
	"context"
	"net/http"
	"time"
)

// State is how far an operation of the server is.
type State string

// The states. A retain has its effect when it is Completed.
const (
	Pending    State = "pending"
	Processing State = "processing"
	Completed  State = "completed"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
)

// Operation is a piece of work that the server has taken.
type Operation struct {
	ID string
	// Type is e.g. "batch_retain".
	Type  string
	State State
	// Document is the id of the one document it is about; only lists have it.
	Document string
	// Error is why it failed, at most 512 bytes.
	Error string
	// Tries is how often the server has repeated it, Created when it took it.
	Tries   int
	Created time.Time
}

type wireOperation struct {
	ID       string `json:"id"`
	Single   string `json:"operation_id"`
	Task     string `json:"task_type"`
	Type     string `json:"operation_type"`
	State    State  `json:"status"`
	Document string `json:"document_id"`
	Error    string `json:"error_message"`
	Tries    int    `json:"retry_count"`
	Created  string `json:"created_at"`
}

func (w wireOperation) operation() Operation {
	o := Operation{ID: w.ID, Type: w.Task, State: w.State, Document: plainDocument(w.Document),
		Error: shorten(clean(w.Error), detailBytes), Tries: w.Tries, Created: moment(w.Created)}
	if o.ID == "" { // 0.9 names these two otherwise in a single answer than in a list
		o.ID = w.Single
	}
	if o.Type == "" {
		o.Type = w.Type
	}
	return o
}

// Operation reads one by the id that Retain returned. False where the server has none, e.g. no longer.
func (c *Client) Operation(ctx context.Context, bank, id string) (Operation, bool, error) {
	path, err := c.operationPath(bank, id)
	if err != nil {
		return Operation{}, false, err
	}
	var w wireOperation
	err = c.call(ctx, http.MethodGet, path, nil, nil, &w)
	if absent(err) || err == nil && w.State == "not_found" {
		return Operation{}, false, nil
	}
	return w.operation(), err == nil, err
}

// Operations lists a bank's operations in one state, or in all for "", and how many there are. Limit is at most 100; 0 is
// 20. A bank that is not there has none.
func (c *Client) Operations(ctx context.Context, bank string, state State, limit, offset int) ([]Operation, int, error) {
	path, err := c.bankPath(bank, "operations")
	if err != nil {
		return nil, 0, err
	}
	params, err := page(min(limit, 100), offset)
	if err != nil {
		return nil, 0, err
	}
	if state != "" {
		params.Set("status", string(state))
	}
	var answer struct {
		Total int             `json:"total"`
		List  []wireOperation `json:"operations"`
	}
	err = c.call(ctx, http.MethodGet, path, params, nil, &answer)
	if absent(err) {
		return nil, 0, nil
	}
	var out []Operation
	for _, w := range answer.List {
		out = append(out, w.operation())
	}
	return out, answer.Total, err
}

// RetryOperation makes the server take up a failed or cancelled operation again, under the same id. False where it has
// none that can be.
func (c *Client) RetryOperation(ctx context.Context, bank, id string) (bool, error) {
	path, err := c.operationPath(bank, id, "retry")
	if err != nil {
		return false, err
	}
	err = c.call(ctx, http.MethodPost, path, nil, nil, nil)
	if absent(err) || statusOf(err) == http.StatusConflict {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) operationPath(bank, id string, more ...string) (string, error) {
	if err := checkName("the operation", id); err != nil {
		return "", err
	}
	return c.bankPath(bank, append([]string{"operations", id}, more...)...)
}
