package journal

import (
	"errors"
	"reflect"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// held are the conversations going on.
var held sync.Map

type conversation struct {
	journal cairn.Journal
	name    string
}

// Enter refuses a second conversation under the name of one that goes on: they would take each other's records for their own.
// Leave lets others hold one again.
func Enter(j cairn.Journal, name string) (leave func(), err error) {
	if j == nil || !reflect.TypeOf(j).Comparable() {
		return func() {}, nil
	}
	c := conversation{j, name}
	if _, twice := held.LoadOrStore(c, true); twice {
		return nil, task.Permanent(errors.New("two conversations about one prompt go on in this task at once: give their agents an ID each"))
	}
	return func() { held.Delete(c) }, nil
}
