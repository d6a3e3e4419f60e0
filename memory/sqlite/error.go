package sqlite

import (
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

func notFound(what string, ns memory.Namespace, id string) error {
	return &cairn.Error{Code: memory.NotFound, Message: fmt.Sprintf("%s has no %s %q", ns, what, id),
		Next: "check the name and the namespace, byte by byte; it may have expired"}
}

func exists(what, id, differs string) error {
	return &cairn.Error{Code: memory.Exists, Message: fmt.Sprintf("the %s %q is there already, with another %s", what, id, differs),
		Next: "take another id, or leave it empty"}
}

func contradictory(message, next string) error {
	return &cairn.Error{Code: memory.InvalidItem, Message: message, Next: next}
}

func damaged(what string, cause error) error {
	return &cairn.Error{Code: memory.Damaged, Message: what, Err: cause,
		Next: "check the file with PRAGMA integrity_check; restore it from a copy or an export"}
}
