package tool_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnrun/cairn/tool"
)

const nestedEnv = "CAIRN_TOOL_NESTED" // makes the test binary run a shell where there are no more namespaces to be had

// Where the kernel gives no namespace the command does not run at all.
func TestWithoutNamespacesNothingRuns(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), nestedEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if strings.HasPrefix(string(out), "skip") || err != nil && len(out) == 0 {
		t.Skipf("no user namespace to try it in: %s, %v", out, err)
	}
	if err != nil || !strings.HasPrefix(string(out), "SHELL_NO_ISOLATION") || !strings.Contains(string(out), "allow the network explicitly") {
		t.Errorf("got %s, %v", out, err)
	}
	if _, err := os.Stat(cmd.Dir + "/ran"); err == nil {
		t.Error("the command has run")
	}
	if _, err := os.Stat(cmd.Dir + "/ran-open"); err != nil {
		t.Errorf("with the network allowed it has not run: %v", err)
	}
}

// A command does not outlive this process, however that ends.
func TestKillEndsTheCommandToo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	never := fifo(t, filepath.Join(dir, "never"))
	begun, gone := alive(t, fifo(t, filepath.Join(dir, "alive")))
	cmd := exec.Command(self)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), nestedEnv+"=wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := <-begun; err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if err := <-gone; err != nil {
		t.Error(err)
	}
	_ = os.Remove(never)
}

// nested is the process of these tests.
func nested() {
	if os.Getenv(nestedEnv) == "wait" {
		root, err := os.OpenRoot(".")
		if err == nil {
			_, err = tool.Shell(root, tool.ShellPolicy{Network: true}).Call(context.Background(), []byte(`{"command":"`+holds+`exec cat never"}`))
		}
		fmt.Println(err)
		os.Exit(1)
	}
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println("skip:", err)
		os.Exit(0)
	}
	root, err := os.OpenRoot(".")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = tool.Shell(root, tool.ShellPolicy{}).Call(context.Background(), []byte(`{"command":"touch ran"}`))
	fmt.Println(err)
	if out, err := tool.Shell(root, tool.ShellPolicy{Network: true}).Call(context.Background(), []byte(`{"command":"touch ran-open"}`)); err != nil {
		fmt.Println(string(out), err)
	}
	os.Exit(0)
}
