package memory

import (
	"fmt"
	"slices"
	"strings"
)

// Filter is what an item's tags must pass: of every group, one tag. It is strict: an item without tags passes the empty
// filter only.
type Filter [][]string

// Passes says whether an item with these tags is let through.
func (f Filter) Passes(tags []string) bool {
	for _, group := range f {
		if !slices.ContainsFunc(group, func(tag string) bool { return slices.Contains(tags, tag) }) {
			return false
		}
	}
	return true
}

// isUser and isProject tell the kinds of banks by the configured name, before any prefix of a backend.
func isUser(bank string) bool    { return strings.HasPrefix(bank, "user-") }
func isProject(bank string) bool { return strings.HasPrefix(bank, "project-") }

// mainScope marks what every branch of a project is shown.
const mainScope = "scope:main"

// RecallFilter is what a bank lets through for the configured tags, which are valid, and for those that a tool call asked for:
// these only narrow, and what is of a project means nothing to a user's bank.
func RecallFilter(bank string, configured, asked []string) Filter {
	f := Filter{}
	all := func(tags []string, but func(tag string) bool) {
		for _, tag := range distinct(tags) {
			if !but(tag) {
				f = append(f, []string{tag})
			}
		}
	}
	switch {
	case isUser(bank):
		all(slices.Concat(configured, asked), ofProject)
	case isProject(bank):
		f = append(f, append([]string{mainScope}, of(configured, "branch")...))
		all(configured, func(tag string) bool { return strings.HasPrefix(tag, "branch:") || strings.HasPrefix(tag, "scope:") })
		all(asked, func(string) bool { return false })
	default:
		all(slices.Concat(configured, asked), func(string) bool { return false })
	}
	return f
}

// WriteTags are the tags of an item that is written to a bank: the configured ones, those given by a tool call or a
// person, the source, and in a project the scope that follows from the branch. BAD_TAG.
func WriteTags(bank string, configured, given []string, source string) ([]string, error) {
	for _, tag := range given {
		if err := CheckTag(tag); err != nil {
			return nil, err
		}
		if isUser(bank) && ofProject(tag) {
			return nil, badTag("the tag %q is of a project, and %s is a user's bank", tag, bank)
		}
	}
	tags := slices.Concat(configured, given)
	if isUser(bank) {
		tags = slices.DeleteFunc(tags, ofProject)
	}
	if source != "" {
		tags = append(tags, "source:"+source)
	}
	if err := CheckTags(tags); err != nil { // before a scope is derived: scope:main needs a branch only if somebody has given it
		return nil, fmt.Errorf("writing to bank %s: %w", bank, err)
	}
	if isProject(bank) && len(of(tags, "scope")) == 0 {
		scope := mainScope
		if branches := of(tags, "branch"); len(branches) == 1 {
			scope = scopeOf(branches[0])
		}
		tags = append(tags, scope)
	}
	if tags = distinct(tags); len(tags) > MaxTagged {
		return nil, fmt.Errorf("writing to bank %s: %w", bank, badTag("%d tags with those that are added, the limit is %d", len(tags), MaxTagged))
	}
	return tags, nil
}

// DerivedTags are the tags of an item that is made of others in the same bank, of which these are the tags: what all of them
// have in common, so that who is shown the new item would have been shown each of the others. In a project, what comes
// from main and one branch is the branch's. BAD_TAG where nobody may see all of them, as with two branches. The source
// is the new item's own.
func DerivedTags(bank, source string, from ...[]string) ([]string, error) {
	var common []string
	if len(from) > 0 {
		common = slices.DeleteFunc(distinct(from[0]), func(tag string) bool {
			return strings.HasPrefix(tag, "source:") || slices.ContainsFunc(from, func(tags []string) bool { return !slices.Contains(tags, tag) })
		})
	}
	if isProject(bank) {
		var branches []string
		for _, tags := range from {
			if slices.Contains(tags, mainScope) {
				continue
			}
			branch := of(tags, "branch")
			if len(branch) == 0 {
				return nil, badTag("an item of %s with neither scope:main nor a branch is shown to nobody, and so is what is made of it", bank)
			}
			branches = distinct(append(branches, branch...))
		}
		switch len(branches) {
		case 0:
		case 1:
			common = slices.DeleteFunc(common, func(tag string) bool { return strings.HasPrefix(tag, "branch:") || strings.HasPrefix(tag, "scope:") })
			common = append(common, branches[0], scopeOf(branches[0]))
		default:
			return nil, badTag("what is made of %s would show each of them the others", strings.Join(branches, " and "))
		}
	}
	if source != "" {
		common = append(common, "source:"+source)
	}
	return distinct(common), nil
}
