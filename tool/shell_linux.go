package tool

import (
	"fmt"
	"os"
	"syscall"
)

// confine puts the command into namespaces of its own: the network's, which has no interface that is up, and the users', which
// lets anyone make the former. Inside, the user is who it was before.
func confine(attr *syscall.SysProcAttr, network bool) error {
	if network {
		return nil
	}
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	return nil
}

// folder names an open folder for the child, whatever has become of its path.
func folder(dir *os.File, _ *os.Root) string { return fmt.Sprintf("/proc/self/fd/%d", dir.Fd()) }

// home is where the root is now.
func home(root *os.Root) string {
	dir, err := root.Open(".")
	if err != nil {
		return root.Name()
	}
	defer dir.Close()
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	if err != nil {
		return root.Name()
	}
	return path
}
