//go:build race

package crashtest_test

// raced: the race detector makes everything ten times slower, so less is done.
const raced = true
