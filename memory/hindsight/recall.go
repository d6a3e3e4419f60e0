package hindsight

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Query asks a bank for what it remembers.
type Query struct {
	// Text is what to look for. It is cleaned and cut to 1,500 bytes, and to 500 if the server finds that too long. Without
	// a letter, digit or underscore it recalls nothing and nothing is sent.
	Text string
	// Filter is an AND of groups, each an OR of tags; a row needs a tag of each group, so an untagged row matches no
	// filter but the empty one. An empty group is an error.
	Filter [][]string
	// Budget is how hard the server searches: low, mid or high. Empty is mid.
	Budget string
	// MaxTokens bounds the rows' text, in the server's tokens. 0 is the server's default, 4096.
	MaxTokens int
	// Types limits the rows to world, experience or observation. None is all.
	Types []string
	// Sources asks for the facts behind observations.
	Sources bool
	// At is the time the query speaks of as now; the zero time is the server's.
	At time.Time
}

// Row is one memory that a recall found.
type Row struct {
	ID, Text, Type, Context string
	// Document is the id it was retained with.
	Document string
	Tags     []string
	Metadata map[string]string
	// Score is the server's final one; the rows are in its order.
	Score float64
	// Mentioned is when it was retained or happened, as far as the server knows.
	Mentioned time.Time
	// Sources are ids in Recalled.Sources.
	Sources []string
}

// Recalled is the answer to a Query.
type Recalled struct {
	// Bank is the configured name.
	Bank string
	// Rows are best first, Sources the facts behind them by id.
	Rows    []Row
	Sources map[string]Row
	// Dropped counts rows and sources that the server returned although they don't match the filter.
	Dropped int
	// QueryBytes is how long the text was that was answered, and Shortened that it was not the whole.
	QueryBytes int
	Shortened  bool
	// NoBank: the server says that there is no such bank. Older ones return no rows instead; see Doctor.
	NoBank bool
}

type recallInclude struct {
	// Entities is always null: left out, the server adds them, for time and bytes that nobody reads.
	Entities *struct{} `json:"entities"`
	Sources  *struct{} `json:"source_facts,omitempty"`
}

type recallRequest struct {
	Query     string        `json:"query"`
	Types     []string      `json:"types,omitempty"`
	Budget    string        `json:"budget,omitempty"`
	MaxTokens int           `json:"max_tokens,omitempty"`
	At        string        `json:"query_timestamp,omitempty"`
	Include   recallInclude `json:"include"`
	Groups    []leaf        `json:"tag_groups,omitempty"`
}

type wireRow struct {
	ID        string            `json:"id"`
	Text      string            `json:"text"`
	Type      string            `json:"type"`
	Context   string            `json:"context"`
	Document  string            `json:"document_id"`
	Tags      []string          `json:"tags"`
	Metadata  map[string]string `json:"metadata"`
	Mentioned string            `json:"mentioned_at"`
	Sources   []string          `json:"source_fact_ids"`
	Scores    struct {
		Final float64 `json:"final"`
	} `json:"scores"`
}

func (w wireRow) row() Row {
	return Row{ID: w.ID, Text: w.Text, Type: w.Type, Context: w.Context, Document: plainDocument(w.Document), Tags: w.Tags,
		Metadata: w.Metadata, Score: w.Scores.Final, Mentioned: moment(w.Mentioned), Sources: w.Sources}
}

// moment reads a time of the server; what can't be read is the zero time.
func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// Recall searches one bank. A bank that is not there has no rows.
func (c *Client) Recall(ctx context.Context, bank string, q Query) (Recalled, error) {
	out := Recalled{Bank: bank}
	path, err := c.bankPath(bank, "memories", "recall")
	if err != nil {
		return out, err
	}
	f, err := cleanFilter(q.Filter)
	if err != nil {
		return out, err
	}
	switch {
	case q.Budget != "" && q.Budget != "low" && q.Budget != "mid" && q.Budget != "high":
		return out, invalid("recall budget "+q.Budget, "use low, mid or high")
	case q.MaxTokens < 0:
		return out, invalid("a negative MaxTokens", "use 0 for the server's default")
	}
	req := recallRequest{Query: query(q.Text, queryFirst), Types: q.Types, Budget: q.Budget, MaxTokens: q.MaxTokens, Groups: f.leaves()}
	if req.Query == "" {
		return out, nil
	}
	if !q.At.IsZero() {
		req.At = q.At.UTC().Format(time.RFC3339Nano)
	}
	if q.Sources {
		req.Include.Sources = &struct{}{}
	}
	var answer struct {
		Results []wireRow          `json:"results"`
		Sources map[string]wireRow `json:"source_facts"`
	}
	err = c.call(ctx, http.MethodPost, path, nil, req, &answer)
	if tooLong(err) && len(req.Query) > queryAgain {
		req.Query = query(req.Query, queryAgain)
		err = c.call(ctx, http.MethodPost, path, nil, req, &answer)
	}
	out.QueryBytes, out.Shortened = len(req.Query), len(req.Query) < len(strings.TrimSpace(clean(q.Text)))
	if absent(err) {
		out.NoBank = true
		return out, nil
	}
	if err != nil {
		return out, err
	}
	for _, w := range answer.Results {
		if !f.matches(w.Tags) {
			out.Dropped++
			continue
		}
		out.Rows = append(out.Rows, w.row())
	}
	for id, w := range answer.Sources {
		if !f.matches(w.Tags) {
			out.Dropped++
			continue
		}
		if out.Sources == nil {
			out.Sources = map[string]Row{}
		}
		out.Sources[id] = w.row()
	}
	return out, nil
}

// tooLong recognises the one refusal that a shorter query mends.
func tooLong(err error) bool {
	return statusOf(err) == http.StatusBadRequest && strings.Contains(strings.ToLower(err.Error()), "too long")
}
