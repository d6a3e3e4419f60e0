package hindsight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client speaks to one server. It keeps no state of its own and is safe for concurrent use. It never retries by itself,
// but for one query that was too long: who calls knows how long it may take.
//
// Errors are *cairn.Error with a code of this package; [Retryable] tells which may pass. What is not there is no error
// but false, per bank and id: a primer may exist in one bank and not in another.
type Client struct {
	cfg  Config
	base string
	http *http.Client
}

// New checks the configuration; it sends nothing.
func New(cfg Config) (*Client, error) {
	base, err := cfg.check()
	if err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.MaxAnswer <= 0 {
		cfg.MaxAnswer = 8 << 20
	}
	h := http.Client{}
	if cfg.HTTP != nil {
		h = *cfg.HTTP
	}
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{cfg: cfg, base: base, http: &h}, nil
}

// absent is a 404 on its way to becoming false.
func absent(err error) bool { return statusOf(err) == http.StatusNotFound }

// path joins escaped segments.
func path(segments ...string) string {
	var p string
	for _, s := range segments {
		p += "/" + url.PathEscape(s)
	}
	return p
}

// bankPath is the path of a call about a bank, by its configured name.
func (c *Client) bankPath(bank string, segments ...string) (string, error) {
	wire, err := c.wire(bank)
	if err != nil {
		return "", err
	}
	return "/v1/default/banks" + path(append([]string{wire}, segments...)...), nil
}

// call sends in as JSON if it is not nil and reads the answer into out if that is not nil.
func (c *Client) call(ctx context.Context, method, path string, params url.Values, in, out any) error {
	name := method + " " + path
	var body io.Reader
	if in != nil {
		b, err := encode(in)
		if err != nil {
			return invalid(name+": "+err.Error(), "report it")
		}
		body = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	target := c.base + path
	if len(params) > 0 {
		target += "?" + params.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return invalid(name+": "+err.Error(), "report it")
	}
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	answer, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the rest repeats the call
		}
		return unavailable(name, err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, c.cfg.MaxAnswer+1))
	switch {
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return refusal(name, answer.StatusCode, answer.Header, b, time.Now())
	case err != nil:
		return unavailable(name, err)
	case int64(len(b)) > c.cfg.MaxAnswer:
		return unreadable(name, answer.StatusCode, errors.New("an answer of more than "+strconv.FormatInt(c.cfg.MaxAnswer, 10)+" bytes"))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return unreadable(name, answer.StatusCode, err)
	}
	return nil
}

// encode writes the same bytes for the same value: fields in order, map keys sorted, nothing escaped that need not be.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// page is a limit and an offset as parameters; a limit of 0 is the server's.
func page(limit, offset int) (url.Values, error) {
	if limit < 0 || offset < 0 {
		return nil, invalid("a limit or offset is negative", "count from 0")
	}
	v := url.Values{}
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	if offset > 0 {
		v.Set("offset", strconv.Itoa(offset))
	}
	return v, nil
}
