// Package shop sells things.
package shop

import "errors"

// ErrClosed means that the shop is closed.
var ErrClosed = errors.New("closed")

// Currencies that the shop takes.
const (
	Euro  = "EUR"
	Franc = "CHF"
)

const (
	Small = iota // A thing for one hand.
	Large
)

type Shop struct {
	Name string
}

// Open opens the shop.
func (s *Shop) Open() error {
	// TODO(mira): ask for the opening hours, *not* for <the day>.
	if s.Name == "" {
		return ErrClosed
	}
	return nil
}

func (s *Shop) Close() {}

//go:noinline
func Total(prices ...int) int {
	sum := 0
	for _, p := range prices {
		sum += p
	}
	return sum
}

func helper() {}
