//go:build !unix

package tool

import (
	"context"
	"io"
	"os"

	"github.com/cairnrun/cairn"
)

// execute refuses: there are no process groups here that end as a whole, and no network that can be taken away.
func (s *shell) execute(context.Context, string, *os.File, io.Writer) (ending, error) {
	if s.Network {
		return ending{}, &cairn.Error{Code: NoShell, Message: "shell_run does not run on this system", Next: "run on Linux or another Unix"}
	}
	return ending{}, &cairn.Error{Code: NoIsolation, Message: "the command was not run: this system can't take the network away from a command", Next: "run on Linux"}
}
