package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// produced counts the tasks mounted under one key, by the schema of their output: nearly always one schema, and often one
// task, so the first schema needs no map.
type produced struct {
	schema string
	same   int
	others map[string]int
}

func (p produced) count() int {
	n := p.same
	for _, more := range p.others {
		n += more
	}
	return n
}

// key files a mounted task under its key, unkey takes it out.
func (mo *memo) key(n *node) {
	p, hash := mo.keys[n.key()], n.task.SchemaHash
	switch {
	case p.same == 0 && p.others[hash] == 0:
		p.schema, p.same = hash, 1
	case p.same > 0 && p.schema == hash:
		p.same++
	default:
		if p.others == nil {
			p.others = map[string]int{}
		}
		p.others[hash]++
	}
	mo.keys[n.key()] = p
}

func (mo *memo) unkey(n *node) {
	p, hash := mo.keys[n.key()], n.task.SchemaHash
	if p.same > 0 && p.schema == hash {
		p.same--
	} else if p.others[hash]--; p.others[hash] <= 0 {
		delete(p.others, hash)
	}
	if p.same == 0 && len(p.others) == 0 {
		delete(mo.keys, n.key())
		return
	}
	mo.keys[n.key()] = p
}

func (n *node) key() string {
	_, key := cairn.Split(n.path)
	return key
}

// keyed reports keys that new tasks produce as another type than others do, or than the workflow's result has, and keys
// mounted at two levels of one chain of scopes: a read could not tell which is meant.
func (m *Machine) keyed() {
	mo := m.memo
	known := map[string]bool{}
	late := map[*node]map[string]*node{}
	for _, n := range mo.fresh {
		if n.kind != cairn.KindTask {
			continue
		}
		scope, key := cairn.Split(n.path)
		p := mo.keys[key]
		if (len(p.others) > 0 || key == m.def.Result) && !known[key] {
			known[key] = true
			m.oneType(key, p)
		}
		for at := scope; at != ""; {
			at, _ = cairn.Split(at)
			if o := mo.nodes[cairn.Join(at, key)]; o != nil && o.kind == cairn.KindTask {
				mo.shadow(n, o)
			}
		}
		if p.count() > 1 {
			if around := n.beside(); around != nil {
				if late[around] == nil {
					late[around] = map[string]*node{}
				}
				late[around][key] = n
			}
		}
	}
	// A scope renders whole, so what is in it is new with it; a Catch or Finally mounts beside what was there.
	for _, n := range mo.fresh {
		around := n.beside()
		mine := late[around]
		if mine == nil {
			continue
		}
		delete(late, around)
		around.walk(func(o *node) bool {
			if o.kind == cairn.KindTask && o.scope != around.scope && !o.fresh(mo) && mine[o.key()] != nil {
				mo.shadow(o, mine[o.key()])
			}
			return true
		})
	}
}

// oneType reports a key whose tasks, or the workflow's result, have several schemas.
func (m *Machine) oneType(key string, p produced) {
	types := maps.Clone(p.others)
	if types == nil {
		types = map[string]int{}
	}
	if p.same > 0 {
		types[p.schema] = p.same
	}
	if key == m.def.Result {
		if result, err := m.schema(m.def.Output); err == nil {
			types[result]++
		}
	}
	if len(types) < 2 {
		return
	}
	first := map[string]string{}
	for path, n := range m.memo.nodes {
		if n.kind != cairn.KindTask || n.key() != key {
			continue
		}
		if at, ok := first[n.task.SchemaHash]; !ok || comparePaths(path, at) < 0 {
			first[n.task.SchemaHash] = path
		}
	}
	var two []string
	for _, hash := range slices.Sorted(maps.Keys(types)) {
		at := "as the workflow's result"
		if path := first[hash]; path != "" {
			at = "at " + path
		}
		two = append(two, hash+" "+at)
	}
	m.memo.mistake(cairn.KeyType, key, fmt.Sprintf("the key %q is produced as several types, with schema %s", key, strings.Join(two, " and ")))
}

// fresh says that a node is of this round's renders.
func (n *node) fresh(mo *memo) bool { return !n.counted && mo.nodes[n.path] == n }

// beside is the part that holds the whole scope of a task which a later part of a try has mounted; nil for others.
func (n *node) beside() *node {
	if n.kind != cairn.KindTask {
		return nil
	}
	late := false
	for n = n.parent; n.kind != kindPart || n.parent != nil && n.parent.kind == cairn.KindTry; n = n.parent {
		late = late || n.kind == kindPart && n.cell != nil
	}
	if !late {
		return nil
	}
	return n
}

func (mo *memo) shadow(inner, outer *node) {
	mo.mistake(cairn.InvalidTree, inner.path,
		fmt.Sprintf("the key %q is mounted in a scope around this one too, at %s; give one of them another name", inner.key(), outer.path))
}

func (mo *memo) mistake(code cairn.Code, path, why string) {
	mo.mistakes = append(mo.mistakes, &cairn.Error{Code: code, Path: path, Message: why})
}
