//go:build race

package memory_test

// raced says that the race detector is on: SQLite is then thirty times slower.
const raced = true
