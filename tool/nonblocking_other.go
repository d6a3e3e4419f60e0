//go:build !unix

package tool

// nonblocking is not needed where pipes are no files.
const nonblocking = 0
