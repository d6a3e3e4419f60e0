package hindsighttest

import (
	"encoding/json"
	"errors"
	"slices"
)

// group is a node of a tag filter: a leaf, or and, or, not over others.
type group struct {
	leaf   bool
	tags   []string
	match  string
	op     string
	within []group
}

// parseGroup reads a node. An empty and/or is what makes the real server write broken SQL.
func parseGroup(raw json.RawMessage) (group, error) {
	var n struct {
		Tags  *[]string          `json:"tags"`
		Match string             `json:"match"`
		And   *[]json.RawMessage `json:"and"`
		Or    *[]json.RawMessage `json:"or"`
		Not   json.RawMessage    `json:"not"`
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return group{}, err
	}
	if n.Tags != nil {
		if n.Match == "" {
			n.Match = "any_strict"
		}
		return group{leaf: true, tags: *n.Tags, match: n.Match}, nil
	}
	g := group{op: "not"}
	nodes := []json.RawMessage{n.Not}
	switch {
	case n.And != nil:
		g.op, nodes = "and", *n.And
	case n.Or != nil:
		g.op, nodes = "or", *n.Or
	case n.Not == nil:
		return group{}, errors.New("unknown node")
	}
	if len(nodes) == 0 {
		return group{}, errors.New(`syntax error at or near ")"`)
	}
	for _, node := range nodes {
		inner, err := parseGroup(node)
		if err != nil {
			return group{}, err
		}
		g.within = append(g.within, inner)
	}
	return g, nil
}

// matches is Hindsight's meaning: any and all let untagged rows through, the strict ones and exact don't; no tags is no
// filter, but for exact.
func (g group) matches(tags []string) bool {
	has := func(t string) bool { return slices.Contains(tags, t) }
	if !g.leaf {
		all := func(n group) bool { return n.matches(tags) }
		switch g.op {
		case "and":
			return !slices.ContainsFunc(g.within, func(n group) bool { return !all(n) })
		case "or":
			return slices.ContainsFunc(g.within, all)
		}
		return !all(g.within[0])
	}
	if g.match == "exact" {
		return len(tags) == len(g.tags) && !slices.ContainsFunc(g.tags, func(t string) bool { return !has(t) })
	}
	if len(g.tags) == 0 {
		return true
	}
	switch g.match {
	case "any":
		return len(tags) == 0 || slices.ContainsFunc(g.tags, has)
	case "all":
		return len(tags) == 0 || !slices.ContainsFunc(g.tags, func(t string) bool { return !has(t) })
	case "all_strict":
		return !slices.ContainsFunc(g.tags, func(t string) bool { return !has(t) })
	}
	return slices.ContainsFunc(g.tags, has)
}
