package hindsight

import (
	"context"
	"net/http"
)

// Tag is a tag of a bank and how many memories have it.
type Tag struct {
	Tag   string `json:"tag"`
	Count int    `json:"count"`
}

// Tags lists a bank's tags, at most 1,000. Pattern may have "*" in it, e.g. "branch:*"; empty is all. A bank that is not
// there has none.
func (c *Client) Tags(ctx context.Context, bank, pattern string) ([]Tag, error) {
	path, err := c.bankPath(bank, "tags")
	if err != nil {
		return nil, err
	}
	params, err := page(1000, 0)
	if err != nil {
		return nil, err
	}
	if pattern = clean(pattern); pattern != "" {
		params.Set("q", pattern)
	}
	var answer struct {
		Items []Tag `json:"items"`
	}
	err = c.call(ctx, http.MethodGet, path, params, nil, &answer)
	if absent(err) {
		return nil, nil
	}
	return answer.Items, err
}
