package hindsight

import (
	"context"
	"net/http"
)

// Bank is a bank that exists on the server, by its configured name. Banks come into being with their first record.
type Bank struct {
	Name string
	// Facts is how many memories it holds.
	Facts int
}

// The most entries that a list is read to, by pages of bankPage.
const (
	bankPage = 100
	bankMost = 10_000
)

// Banks lists the banks under the configured prefix, at most 10,000. Those without the prefix are another's.
func (c *Client) Banks(ctx context.Context) ([]Bank, error) {
	var out []Bank
	seen := map[string]bool{}
	for offset := 0; offset < bankMost; {
		params, err := page(bankPage, offset)
		if err != nil {
			return nil, err
		}
		var answer struct {
			Banks []struct {
				ID    string `json:"bank_id"`
				Facts int    `json:"fact_count"`
			} `json:"banks"`
		}
		if err := c.call(ctx, http.MethodGet, "/v1/default/banks", params, nil, &answer); err != nil {
			return nil, err
		}
		before := len(seen)
		for _, b := range answer.Banks {
			if name, ok := c.plain(b.ID); ok && !seen[b.ID] {
				out = append(out, Bank{Name: name, Facts: b.Facts})
			}
			seen[b.ID] = true
		}
		// Some servers list all at once whatever the limit, and give no total.
		offset += len(answer.Banks)
		if len(answer.Banks) < bankPage || len(seen) == before {
			break
		}
	}
	return out, nil
}
