//go:build !unix

package mcp

import "os/exec"

// grouped can do nothing here: what the program has started it has to end.
func grouped(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
