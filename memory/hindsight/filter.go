package hindsight

import "slices"

// leaf is one group on the wire: one of its tags must be there, and untagged rows don't match.
type leaf struct {
	Tags  []string `json:"tags"`
	Match string   `json:"match"`
}

// A filter is an AND of groups, each an OR of tags; none is no filter. Only the strict modes are ever sent: the others
// let untagged rows through.
type filter [][]string

// cleanFilter refuses an empty group. It matches nothing, the server makes broken SQL of it, and leaving it out would
// show more than was asked for.
func cleanFilter(groups [][]string) (filter, error) {
	var f filter
	for _, g := range groups {
		tags, err := cleanTags(g)
		if err != nil {
			return nil, err
		}
		if len(tags) == 0 {
			return nil, invalid("a group of the tag filter is empty", "leave the group out or name a tag in it")
		}
		f = append(f, tags)
	}
	return f, nil
}

// cleanTags drops repetitions and keeps the order.
func cleanTags(tags []string) ([]string, error) {
	var out []string
	for _, t := range tags {
		t = clean(t)
		if t == "" {
			return nil, invalid("a tag is empty", "leave it out")
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out, nil
}

func (f filter) leaves() []leaf {
	var out []leaf
	for _, g := range f {
		out = append(out, leaf{Tags: g, Match: "any_strict"})
	}
	return out
}

// matches is the filter on this side: the server has returned rows that it should not have.
func (f filter) matches(tags []string) bool {
	for _, g := range f {
		if !slices.ContainsFunc(g, func(t string) bool { return slices.Contains(tags, t) }) {
			return false
		}
	}
	return true
}
