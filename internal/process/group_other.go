//go:build !unix && !windows

package process

import "os/exec"

type members struct{}

// Grouped does nothing here: there are no groups.
func Grouped(*exec.Cmd) {}

// KillGroup does nothing here: what a program has started it has to end.
func KillGroup(*exec.Cmd) {}

func tie(*exec.Cmd) func() { return func() {} }

func (g *Group) start() error { return g.cmd.Start() }

// Terminate ends the program.
func (g *Group) Terminate() { g.Kill() }

// Kill ends the program.
func (g *Group) Kill() { _ = g.cmd.Process.Kill() }

func (g *Group) end() error { return g.cmd.Wait() }
