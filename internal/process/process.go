// Package process names an operating system process so that another one on the same host can tell, for certain,
// that it is dead: by host, process id and the moment it started, since ids are reused.
//
//	self := process.Self()
//	// stored somewhere; later, in another process:
//	if process.Dead(self) { … }
//
// Environment is what a child process sees of this one. A Group is a child with all that it starts, which ends as a whole.
//
// Dead never guesses: a process of another host, or one whose start can't be seen, counts as alive.
package process

import "os"

// ID names a process.
type ID struct {
	// Host is the host's name with, where there is one, the id of this boot and of the process id namespace.
	Host string
	PID  int
	// Started identifies the moment the process started; "" where the system doesn't tell.
	Started string
}

// Self is the calling process.
func Self() ID {
	pid := os.Getpid()
	started, _ := startOf(pid)
	return ID{Host: host(), PID: pid, Started: started}
}

// Dead says that the process has ended, as far as this host can know.
func Dead(id ID) bool {
	if id.PID <= 0 || id.Host == "" || id.Host != host() {
		return false
	}
	started, exists := startOf(id.PID)
	return !exists || started != "" && id.Started != "" && started != id.Started
}
