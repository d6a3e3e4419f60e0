package core

import (
	"container/heap"
	"slices"
)

// ready orders the tasks that may start: higher priority first, then as they stand in the tree.
type ready []*node

func (r *ready) push(n *node) {
	n.listed = true
	heap.Push((*readyHeap)(r), n)
}

func (r *ready) pop() *node {
	n := heap.Pop((*readyHeap)(r)).(*node)
	n.listed = false
	return n
}

// purge removes tasks that are no longer mounted: they have no place in tree order.
func (r *ready) purge() {
	n := len(*r)
	*r = slices.DeleteFunc(*r, func(n *node) bool { return n.dropped })
	if len(*r) < n {
		heap.Init((*readyHeap)(r))
	}
}

// readyHeap keeps the methods of heap.Interface off ready.
type readyHeap []*node

func (r readyHeap) Len() int { return len(r) }
func (r readyHeap) Less(i, j int) bool {
	if a, b := r[i].priority(), r[j].priority(); a != b {
		return a > b
	}
	return r[i].before(r[j])
}
func (r readyHeap) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *readyHeap) Push(x any)   { *r = append(*r, x.(*node)) }
func (r *readyHeap) Pop() any {
	old := *r
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*r = old[:len(old)-1]
	return n
}
