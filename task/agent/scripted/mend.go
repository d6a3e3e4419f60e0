package scripted

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// mend changes what a refusal names: "items[0].name: min=3; kind: oneof=a b", after some words. It is false if nothing there
// can be put right. contrary takes the last of several choices in place of the first.
func mend(value any, refusal string, contrary bool) (any, bool) {
	mended := false
	for part := range strings.SplitSeq(refusal, "; ") {
		head, rule, ok := cutLast(part, ": ")
		if !ok {
			continue
		}
		if _, path, words := cutLast(head, ": "); words {
			head = path // "the output is refused: name"
		}
		name, param, _ := strings.Cut(strings.TrimSpace(rule), "=")
		if contrary && name == "oneof" {
			param = last(param)
		}
		changed, ok := change(value, steps(head), func(old any) (any, bool) { return put(old, name, param) })
		if ok {
			value, mended = changed, true
		}
	}
	return value, mended
}

func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// steps are the names and indexes of a path: items[0].name.
func steps(path string) (all []string) {
	for name := range strings.SplitSeq(path, ".") {
		before, rest, indexed := strings.Cut(name, "[")
		if before != "" {
			all = append(all, before)
		}
		for indexed {
			var index string
			index, rest, _ = strings.Cut(rest, "]")
			all = append(all, index)
			_, rest, indexed = strings.Cut(rest, "[")
		}
	}
	return all
}

// change replaces what is at a path. Values are shared with the schema they were made of, so what is changed is copied.
func change(value any, path []string, with func(any) (any, bool)) (any, bool) {
	if len(path) == 0 {
		return with(value)
	}
	switch v := value.(type) {
	case map[string]any:
		inner, ok := change(v[path[0]], path[1:], with)
		if !ok {
			return nil, false
		}
		out := map[string]any{}
		for _, key := range keys(v) {
			out[key] = v[key]
		}
		out[path[0]] = inner
		return out, true
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		inner, ok := change(v[i], path[1:], with)
		if !ok {
			return nil, false
		}
		out := append([]any(nil), v...)
		out[i] = inner
		return out, true
	}
	return nil, false
}

// examples pass the rules of the validator that describe a text.
var examples = map[string]string{
	"email": formats["email"], "url": formats["uri"], "http_url": formats["uri"], "uri": formats["uri"], "uuid": formats["uuid"], "uuid4": formats["uuid"],
	"ip": formats["ipv4"], "ipv4": formats["ipv4"], "ipv6": formats["ipv6"], "hostname": "example.com", "fqdn": "example.com", "cidr": "192.0.2.0/24",
	"hostname_port": "example.com:80", "numeric": "1", "number": "1", "alpha": "text", "alphanum": "text", "lowercase": "text", "uppercase": "TEXT",
	"ascii": "text", "printascii": "text", "hexadecimal": "0a", "boolean": "true", "json": "{}", "semver": "1.0.0", "base64": "dGV4dA==", "timezone": "Europe/Berlin",
}

// put makes a value that keeps a rule of the validator.
func put(old any, rule, param string) (any, bool) {
	switch rule {
	case "oneof", "eq":
		choice := param
		if rule == "oneof" {
			choice = first(param)
		}
		switch old.(type) {
		case json.Number:
			return json.Number(choice), json.Valid([]byte(choice))
		case bool:
			return choice == "true", true
		}
		return choice, true
	case "datetime":
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Format(param), true
	case "startswith":
		return param + fmt.Sprint(old), true
	case "endswith", "contains":
		return fmt.Sprint(old) + param, true
	case "unique":
		list, ok := old.([]any)
		return list[:min(len(list), 1)], ok
	case "required":
		return "text", old == nil || old == ""
	case "min", "gte", "max", "lte", "len":
		return limit(old, rule, param, 0)
	case "gt":
		return limit(old, "min", param, 1)
	case "lt":
		return limit(old, "max", param, -1)
	}
	text, ok := examples[rule]
	return text, ok
}

// last is a oneof of its last choice alone.
func last(param string) string {
	if texts, ok := strings.CutSuffix(param, "'"); ok {
		return texts[strings.LastIndex(texts, "'"):] + "'"
	}
	return param[strings.LastIndex(param, " ")+1:]
}

// first is the first choice of a oneof: words, or texts in single quotes.
func first(param string) string {
	if quoted, ok := strings.CutPrefix(param, "'"); ok {
		text, _, _ := strings.Cut(quoted, "'")
		return text
	}
	word, _, _ := strings.Cut(param, " ")
	return word
}

// limit brings a number, or the size of a text, list or map, to a limit that it has missed; beyond is added to it.
func limit(old any, rule, param string, beyond int64) (any, bool) {
	at, ok := new(big.Rat).SetString(param)
	if !ok {
		d, err := time.ParseDuration(param)
		if err != nil {
			return nil, false
		}
		at = new(big.Rat).SetInt64(int64(d))
	}
	at.Add(at, big.NewRat(beyond, 1))
	if _, ok := old.(json.Number); ok {
		if at.IsInt() {
			return json.Number(at.Num().String()), true
		}
		return json.Number(at.FloatString(12)), true
	}
	if !at.IsInt() || at.Sign() < 0 || at.Cmp(big.NewRat(mostGrown, 1)) > 0 {
		return nil, false
	}
	n := int(at.Num().Int64())
	switch v := old.(type) {
	case string:
		least, most := n, n
		switch rule {
		case "min", "gte":
			most = max(n, utf8.RuneCountInString(v))
		case "max", "lte":
			least = 0
		}
		return sized(v, least, most), true
	case []any:
		return grown(v, n), len(v) > 0 || n == 0
	case map[string]any:
		out := map[string]any{}
		for _, key := range keys(v)[:min(n, len(v))] {
			out[key] = v[key]
		}
		for i := len(out); i < n && len(v) > 0; i++ {
			out[fmt.Sprint(i+1)] = v[keys(v)[0]]
		}
		return out, len(v) > 0 || n == 0
	}
	return nil, false
}

// mostGrown is the greatest size that a rule is followed to.
const mostGrown = 1 << 16

// grown is a list of n: its beginning, or its first item again and again.
func grown(list []any, n int) []any {
	out := append([]any{}, list[:min(n, len(list))]...)
	for len(out) < n && len(list) > 0 {
		out = append(out, list[0])
	}
	return out
}
