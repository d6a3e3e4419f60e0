//go:build !race

package crashtest_test

const raced = false
