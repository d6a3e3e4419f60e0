package hindsight

import (
	"encoding/hex"
	"strings"
	"unicode"
)

// checkName refuses what can't be one segment of a path: the server decodes a path before it picks the route, so an
// escaped slash would reach another call.
func checkName(what, s string) error {
	switch {
	case s == "":
		return invalid(what+" is empty", "name it")
	case s == "." || s == "..", clean(s) != s, strings.ContainsFunc(s, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }):
		return invalid(what+" "+strings.ToValidUTF8(s, "?")+" can't be part of a path", "leave out slashes and control characters")
	}
	return nil
}

// wire is a bank's name as the server knows it.
func (c *Client) wire(bank string) (string, error) {
	if err := checkName("the bank", bank); err != nil {
		return "", err
	}
	return c.cfg.BankPrefix + bank, nil
}

// plain is the configured name of a bank of the server, and false for one without the prefix: it is another's.
func (c *Client) plain(wire string) (string, bool) {
	name, ok := strings.CutPrefix(wire, c.cfg.BankPrefix)
	return name, ok && name != ""
}

// wireDocument writes a document's id so that it is one segment whatever it holds: bytes other than letters, digits and
// "._-:" become ~XX. plainDocument takes that back; ids of other writers pass it unchanged unless they look the same.
func wireDocument(id string) (string, error) {
	if id == "" || clean(id) != id {
		return "", invalid("a document's id is empty or holds NUL or invalid UTF-8", "give it a printable id")
	}
	var b strings.Builder
	for i := range len(id) {
		ch := id[i]
		plain := ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9' ||
			ch == '_' || ch == '-' || ch == ':' || ch == '.' && strings.Trim(id, ".") != ""
		if plain {
			b.WriteByte(ch)
		} else {
			b.WriteString("~" + strings.ToUpper(hex.EncodeToString([]byte{ch})))
		}
	}
	return b.String(), nil
}

func plainDocument(wire string) string {
	var b strings.Builder
	for rest := wire; rest != ""; {
		if rest[0] == '~' && len(rest) >= 3 {
			if ch, err := hex.DecodeString(rest[1:3]); err == nil {
				b.WriteByte(ch[0])
				rest = rest[3:]
				continue
			}
		}
		b.WriteByte(rest[0])
		rest = rest[1:]
	}
	if again, err := wireDocument(b.String()); err == nil && again == wire {
		return b.String()
	}
	return wire
}
