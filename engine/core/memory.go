package core

import (
	"fmt"
	"slices"

	"github.com/cairnrun/cairn"
)

// within lowers the children of a memory node: a sequence whose tasks have its memory. It adds nothing to their paths.
func (b *builder) within(n *node, spec cairn.Spec, preds []string) []string {
	n.kind = cairn.KindSequence
	if spec.Memory == nil {
		return b.reject(n, spec, "a memory that says nothing")
	}
	outer := cairn.RootMemory
	if b.memory != nil {
		outer = *b.memory
	}
	memory := spec.Memory.Under(outer)
	if !memory.Active() {
		b.mistake(cairn.InvalidTree, b.scope, "a memory without a bank: neither it nor a memory around it names one")
	}
	for _, bank := range memory.WriteBanks {
		if !slices.Contains(memory.Banks, bank) {
			b.mistake(cairn.InvalidTree, b.scope, fmt.Sprintf("a memory writes to the bank %q, which neither it nor a memory around it recalls from", bank))
		}
	}
	inside := *b
	inside.memory = &memory
	for _, c := range spec.Children {
		preds = inside.add(n, c, preds)
	}
	n.left = len(n.children)
	return preds
}

// remember gives a task its memory: its own, which replaces all that is around it, or that of the nodes around it. What a
// bank holds is input that changes, so outputs of tasks that have one are neither taken from a cache nor stored there.
func (b *builder) remember(n *node, id string) {
	memory := b.memory
	if own := n.task.Memory; own != nil {
		resolved := own.Under(cairn.RootMemory)
		if memory = &resolved; !memory.Active() {
			b.mistake(cairn.InvalidTree, cairn.Join(b.scope, id), "the task's own memory names no bank; it replaces what is around it")
		}
	}
	if memory != nil && memory.Active() {
		if memory.Tools != "off" && n.task.NoTools != "" {
			b.mistake(cairn.InvalidTree, cairn.Join(b.scope, id), "the memory gives the task tools: "+n.task.NoTools)
		}
		n.task.Policy.Memory, n.task.Policy.NoCache = memory, true
	}
}
