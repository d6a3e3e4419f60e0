package hindsight

import (
	"context"
	"net/http"
)

// Memory is one memory as a list shows it.
type Memory struct {
	ID, Text, Context string
	// Type is world, experience or observation.
	Type     string
	Document string
	Tags     []string
	// Invalid says that it was invalidated, Reason why.
	Invalid bool
	Reason  string
}

// Listing selects memories of a bank.
type Listing struct {
	// Document limits it to one document, Text to memories that contain it.
	Document, Text string
	// Tags must all be there; none is no filter.
	Tags []string
	// Invalid asks for the invalidated ones instead of the valid ones.
	Invalid bool
	// Limit is the most returned, 0 is 100; Offset is how many are passed over.
	Limit, Offset int
}

// Memories lists them, and says how many there are. Rows that lack one of the tags are left out, whatever the server
// thought. A bank that is not there has none.
func (c *Client) Memories(ctx context.Context, bank string, l Listing) ([]Memory, int, error) {
	path, err := c.bankPath(bank, "memories", "list")
	if err != nil {
		return nil, 0, err
	}
	tags, err := cleanTags(l.Tags)
	if err != nil {
		return nil, 0, err
	}
	params, err := page(l.Limit, l.Offset)
	if err != nil {
		return nil, 0, err
	}
	if l.Document != "" {
		wire, err := wireDocument(l.Document)
		if err != nil {
			return nil, 0, err
		}
		params.Set("document_id", wire)
	}
	if text := clean(l.Text); text != "" {
		params.Set("q", text)
	}
	var f filter
	if len(tags) > 0 {
		params["tags"] = tags
		params.Set("tags_match", "all_strict")
		for _, t := range tags {
			f = append(f, []string{t})
		}
	}
	params.Set("state", "valid")
	if l.Invalid {
		params.Set("state", "invalidated")
	}
	var answer struct {
		Total int `json:"total"`
		Items []struct {
			ID       string   `json:"id"`
			Text     string   `json:"text"`
			Context  string   `json:"context"`
			Type     string   `json:"fact_type"`
			Document string   `json:"document_id"`
			Tags     []string `json:"tags"`
			State    string   `json:"state"`
			Reason   string   `json:"invalidation_reason"`
		} `json:"items"`
	}
	err = c.call(ctx, http.MethodGet, path, params, nil, &answer)
	if absent(err) {
		return nil, 0, nil
	}
	var out []Memory
	for _, i := range answer.Items {
		if f.matches(i.Tags) {
			out = append(out, Memory{ID: i.ID, Text: i.Text, Context: i.Context, Type: i.Type, Document: plainDocument(i.Document),
				Tags: i.Tags, Invalid: i.State == "invalidated", Reason: i.Reason})
		}
	}
	return out, answer.Total, err
}

// Invalidate takes one memory out of recall; it stays stored, with the reason. False where it is not there. To remove what
// was said, delete its document.
func (c *Client) Invalidate(ctx context.Context, bank, id, reason string) (bool, error) {
	if err := checkName("the memory", id); err != nil {
		return false, err
	}
	path, err := c.bankPath(bank, "memories", id)
	if err != nil {
		return false, err
	}
	in := struct {
		State  string `json:"state"`
		Reason string `json:"reason,omitempty"`
	}{"invalidated", clean(reason)}
	err = c.call(ctx, http.MethodPatch, path, nil, in, nil)
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}
