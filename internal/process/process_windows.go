package process

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/windows"
)

func host() string {
	name, _ := os.Hostname()
	return name
}

func startOf(pid int) (started string, exists bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", !errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	defer windows.CloseHandle(h)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", true
	}
	if exited.Nanoseconds() > 0 && exited.LowDateTime|exited.HighDateTime != 0 {
		return "", false
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), true
}
