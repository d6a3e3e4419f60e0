package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// cacheKey is what equal prefixes are sent under, so that they meet in one cache; "" leaves it to the provider.
func (m *Model) cacheKey(w loop.Window) string {
	if m.cfg.CacheKey != "" || !m.official() {
		return m.cfg.CacheKey
	}
	type tool struct {
		Name, Description string
		Parameters        json.RawMessage
	}
	prefix := struct {
		Model, System string
		Tools         []tool
	}{Model: m.cfg.Model, System: w.System}
	for _, t := range w.Tools {
		prefix.Tools = append(prefix.Tools, tool{t.Name, t.Description, parameters(t)})
	}
	raw, err := schema.Encode(prefix)
	if err != nil { // a tool's schema is no JSON: the server will say so
		return ""
	}
	key := "cairn-" + digest(raw)
	if i := strings.LastIndexByte(w.Key, '#'); m.cfg.CacheApart && i >= 0 {
		key += "-" + digest([]byte(w.Key[:i])) // what is behind is the call's
	}
	return key
}

// digest is short enough for two to be a key: the API takes 64 characters.
func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:12])
}

// lifetime says how a longer life of what is cached is asked for: by one or the other field, or not at all.
func (m *Model) lifetime(w loop.Window) (option, retention string) {
	long := m.cfg.CacheLong
	for _, mark := range w.Marks {
		long = long || mark.Long
	}
	t := traitOf(m.cfg.Model)
	switch {
	case !long || !m.official() || t.long == 0:
		return "", ""
	case t.options:
		return "12h", ""
	}
	return "", "24h"
}
