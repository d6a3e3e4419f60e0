package hindsighttest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
)

// read decodes a body, and gives the answer to one that is no JSON.
func read(r *http.Request, in any) (string, int, any) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return "", 400, detail("unreadable body")
	}
	if err := json.Unmarshal(b, in); err != nil {
		status, answer := invalid([]any{"body"}, err.Error())
		return "", status, answer
	}
	return string(b), 0, nil
}

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

func detail(text string) any { return map[string]any{"detail": text} }

func invalid(loc []any, msg string) (int, any) {
	return 422, map[string]any{"detail": []any{map[string]any{"loc": loc, "msg": msg, "type": "value_error"}}}
}

func window(r *http.Request, otherwise int) (limit, offset int) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		limit = otherwise
	}
	offset, _ = strconv.Atoi(r.URL.Query().Get("offset")) // absent is 0
	return limit, offset
}

func cut[T any](all []T, limit, offset int) []T {
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))]
}

// list and texts are never null.
func list(items []any) []any { return append([]any{}, items...) }

func texts(items []string) []string { return append([]string{}, items...) }
