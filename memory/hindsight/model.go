package hindsight

import (
	"context"
	"net/http"
	"time"
)

// Model is a mental model: a text that the server keeps up to date about one question. A primer is one.
type Model struct {
	ID, Name string
	// Question is what it answers.
	Question string
	// Content is its text in Markdown; empty while it has none.
	Content string
	Tags    []string
	// Refreshed is when the text was made.
	Refreshed time.Time
	// Stale says that the bank has changed since.
	Stale bool
}

type wireModel struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Question  string   `json:"source_query"`
	Content   string   `json:"content"`
	Tags      []string `json:"tags"`
	Refreshed string   `json:"last_refreshed_at"`
	Stale     bool     `json:"is_stale"`
}

func (w wireModel) model() Model {
	return Model{ID: w.ID, Name: w.Name, Question: w.Question, Content: w.Content, Tags: w.Tags, Refreshed: moment(w.Refreshed), Stale: w.Stale}
}

// Model reads one. False where this bank has none by that id, or where there is no such bank.
func (c *Client) Model(ctx context.Context, bank, id string) (Model, bool, error) {
	if err := checkName("the mental model", id); err != nil {
		return Model{}, false, err
	}
	path, err := c.bankPath(bank, "mental-models", id)
	if err != nil {
		return Model{}, false, err
	}
	var w wireModel
	err = c.call(ctx, http.MethodGet, path, map[string][]string{"detail": {"content"}}, nil, &w)
	if absent(err) {
		return Model{}, false, nil
	}
	return w.model(), err == nil, err
}

// Models lists a bank's mental models without their texts, at most 1,000.
func (c *Client) Models(ctx context.Context, bank string) ([]Model, error) {
	path, err := c.bankPath(bank, "mental-models")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Items []wireModel `json:"items"`
	}
	err = c.call(ctx, http.MethodGet, path, map[string][]string{"detail": {"metadata"}, "limit": {"1000"}}, nil, &answer)
	if absent(err) {
		return nil, nil
	}
	var out []Model
	for _, w := range answer.Items {
		out = append(out, w.model())
	}
	return out, err
}
