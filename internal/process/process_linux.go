package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// host includes the boot and the pid namespace: two containers may share a name, and a process id means nothing
// outside of its namespace.
var host = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join([]string{name, strings.TrimSpace(string(boot)), space}, " ")
})

// startOf reads field 22 of /proc/PID/stat, the start in clock ticks since boot. A zombie counts as gone: it runs no
// more and only waits for its parent.
func startOf(pid int) (started string, exists bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", !errors.Is(err, fs.ErrNotExist)
	}
	// The command name, in parentheses, may hold anything; fields count from after it.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 20 {
		return "", true
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	return fields[19], true
}
