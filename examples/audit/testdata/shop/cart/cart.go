// Package cart holds what is about to be bought.
package cart

// Cart is a list of T.
type Cart[T any] struct{ items []T }

// Add puts an item into the cart.
func (c *Cart[T]) Add(item T) {
	c.items = append(c.items, item)
}

func (c Cart[T]) Len() int { return len(c.items) }

// Iterate calls f for every item. It is no context.TODO() that ends it.
func (c Cart[T]) Iterate(f func(T)) {
	for _, item := range c.items {
		f(item)
	}
}
