package hindsight

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How long a query may be, in bytes. A token is at least one byte and the server takes 500 of them, so the second length
// always fits; the first does for nearly all texts, and says more.
const (
	queryFirst  = 1500
	queryAgain  = 500
	detailBytes = 512
)

// clean removes what makes the server fail: NUL, and bytes that are no UTF-8, which covers lone surrogates.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s
}

// shorten cuts at a rune's boundary to at most limit bytes.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// query cleans and shortens a query. It keeps the first word even if that stands behind the limit, and is empty where
// there is no word character at all: the server refuses such a query.
func query(s string, limit int) string {
	s = strings.TrimSpace(clean(s))
	short := shorten(s, limit)
	if strings.ContainsFunc(short, isWord) {
		return strings.TrimSpace(short)
	}
	first := strings.IndexFunc(s, isWord)
	if first < 0 {
		return ""
	}
	return strings.TrimSpace(shorten(s[first:], limit))
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// detailOf takes the reason out of an error's body: {"detail": text | [{"loc", "msg"}]}, else the text itself.
func detailOf(body []byte) string {
	var answer struct {
		Detail json.RawMessage `json:"detail"`
	}
	var text string
	var list []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	switch {
	case json.Unmarshal(body, &answer) != nil || len(answer.Detail) == 0:
		text = string(body)
	case json.Unmarshal(answer.Detail, &text) == nil:
	case json.Unmarshal(answer.Detail, &list) == nil:
		for i, d := range list {
			if i > 0 {
				text += "; "
			}
			for _, l := range d.Loc {
				if part, ok := l.(string); ok && part != "body" {
					text += part + ": "
				}
			}
			text += d.Msg
		}
	default:
		text = string(answer.Detail)
	}
	return shorten(strings.Join(strings.Fields(clean(text)), " "), detailBytes)
}
