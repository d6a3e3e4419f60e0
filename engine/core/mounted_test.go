package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestMounted: all tasks of the first tree are listed in their order, with the inputs that can be made, whether their turn has come or not.
func TestMounted(t *testing.T) {
	prompted := func(id string, input func(v *cairn.View) string) node { n := T(id); n.input = input; return n }
	def := flow(mount(
		prompted("first", func(v *cairn.View) string { return fmt.Sprint("run ", v.Run(), " at ", v.Now().UnixMilli()) }),
		T("plain"),
		prompted("later", func(v *cairn.View) string { return fmt.Sprint(cairn.Key[int]("first").Must(v)) }),
		cairn.Branch{If: false, Then: T("untaken"), Else: T("taken")},
		cairn.Scope{ID: "in", Body: func(*cairn.View) cairn.Node {
			return prompted("odd", func(*cairn.View) string { panic("no prompt") })
		}},
		T("out")))
	m := core.New(def)
	if list := m.Mounted(); list != nil {
		t.Errorf("before the first step: %+v", list)
	}
	m.Step(time.UnixMilli(5), []core.Event{{Kind: core.RunStarted, Path: "r", Name: "sim", Payload: []byte(`""`)}}, true)
	var got []string
	for _, one := range m.Mounted() {
		text := one.Path + " " + string(one.Input)
		if one.Failure != nil {
			text += string(one.Failure.Code)
		}
		got = append(got, text)
	}
	want := `first "run r at 5"; plain ; later KEY_MISSING; taken ; in/odd RENDER_PANICKED; out `
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("mounted is\n%s\nwant\n%s", s, want)
	}
}
