package memory

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cairnrun/cairn"
)

// Codes of what package memory refuses.
const (
	// BadTag: a tag, or a set of tags, that no item may have.
	BadTag cairn.Code = "BAD_TAG"
	// BadBank: a bank's name that none may have, or that is not configured.
	BadBank cairn.Code = "BAD_BANK"
)

// maxTagBytes bounds one tag.
const maxTagBytes = 128

// volatile are the keys of tags that would mark every item differently: who wrote it, and when, is its Origin.
var volatile = []string{"run", "task", "session", "project", "attempt"}

func badTag(format string, args ...any) error {
	return &cairn.Error{Code: BadTag, Message: fmt.Sprintf(format, args...),
		Next: "use branch:NAME, stream:NAME, scope:main or scope:branch, source:chat|run|reflection|import, or stable tags of your own"}
}

// CheckBank says what is wrong with a bank's name: empty, too long, or not printable.
func CheckBank(bank string) error {
	switch {
	case strings.TrimSpace(bank) == "":
		return &cairn.Error{Code: BadBank, Message: "a bank without a name", Next: "name it, like project-checkout or user-7"}
	case len(bank) > MaxName:
		return &cairn.Error{Code: BadBank, Message: fmt.Sprintf("the name of bank %.20q… has %d bytes", bank, len(bank)), Next: fmt.Sprintf("use at most %d", MaxName)}
	case !printable(bank):
		return &cairn.Error{Code: BadBank, Message: fmt.Sprintf("the bank %q has characters that don't print", bank), Next: "use others"}
	}
	return nil
}

func printable(s string) bool {
	return strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// CheckTag says what is wrong with one tag.
func CheckTag(tag string) error {
	key, value, keyed := strings.Cut(tag, ":")
	switch {
	case tag == "" || strings.TrimSpace(tag) != tag || !printable(tag):
		return badTag("the tag %q is empty, or has blanks around it or characters that don't print", tag)
	case len(tag) > maxTagBytes:
		return badTag("the tag %.20q… has %d bytes, the limit is %d", tag, len(tag), maxTagBytes)
	case slices.Contains(volatile, key):
		return badTag("the tag %q is of one run or task: that is recorded as where an item comes from", tag)
	case keyed && value == "":
		return badTag("the tag %q has nothing after its colon", tag)
	case key == "scope" && value != "main" && value != "branch":
		return badTag("the tag %q: a scope is main or branch", tag)
	case key == "source" && !slices.Contains([]string{"chat", "run", "reflection", "import"}, value):
		return badTag("the tag %q: a source is chat, run, reflection or import", tag)
	case !keyed && slices.Contains([]string{"branch", "stream", "scope", "source"}, key):
		return badTag("the tag %q needs a value, as in %s:…", tag, key)
	}
	return nil
}

// CheckTags says what is wrong with a configured set of tags: with one of them, with their number, or with how a scope
// fits its branch. There is one branch at most; scope:main goes with branch:main, scope:branch with another one.
func CheckTags(tags []string) error {
	for _, tag := range tags {
		if err := CheckTag(tag); err != nil {
			return err
		}
	}
	if n := len(distinct(tags)); n > MaxTagged {
		return badTag("%d tags, the limit is %d", n, MaxTagged)
	}
	branches, scopes := of(tags, "branch"), of(tags, "scope")
	switch {
	case len(branches) > 1:
		return badTag("two branches, %s", strings.Join(branches, " and "))
	case len(scopes) > 1:
		return badTag("two scopes, %s", strings.Join(scopes, " and "))
	case len(scopes) == 1 && len(branches) == 0:
		return badTag("%s without a branch: it needs %s", scopes[0], map[string]string{"scope:main": "branch:main", "scope:branch": "a branch:NAME"}[scopes[0]])
	case len(scopes) == 1 && scopes[0] != scopeOf(branches[0]):
		return badTag("%s does not go with %s", scopes[0], branches[0])
	}
	return nil
}

// scopeOf is the scope that follows from a branch tag.
func scopeOf(branch string) string {
	if branch == "branch:main" {
		return mainScope
	}
	return "scope:branch"
}

// of lists the distinct tags of a key.
func of(tags []string, key string) []string {
	return slices.DeleteFunc(distinct(tags), func(tag string) bool { return !strings.HasPrefix(tag, key+":") })
}

// distinct is a sorted copy without repetitions.
func distinct(tags []string) []string {
	sorted := slices.Clone(tags)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// ofProject says that a tag places an item in a project's history: a user has none.
func ofProject(tag string) bool {
	key, _, _ := strings.Cut(tag, ":")
	return key == "branch" || key == "stream" || key == "scope"
}
