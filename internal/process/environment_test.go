package process_test

import (
	"slices"
	"testing"

	"github.com/cairnrun/cairn/internal/process"
)

func TestEnvironment(t *testing.T) {
	t.Setenv("PATH", "/bin")
	t.Setenv("LANG", "")
	t.Setenv("SECRET", "s")
	t.Setenv("A", "inherited")
	for _, tt := range []struct{ inherit, env, want []string }{
		{nil, nil, []string{"HOME=/home", "LANG=C.UTF-8", "PATH=/bin"}},
		{[]string{"A", "UNSET_BY_ALL"}, []string{"B=1", "B=2", "PATH=/mine"}, []string{"A=inherited", "B=2", "HOME=/home", "LANG=C.UTF-8", "PATH=/mine"}},
		{[]string{"A"}, []string{"A=given"}, []string{"A=given", "HOME=/home", "LANG=C.UTF-8", "PATH=/bin"}},
	} {
		if got := process.Environment("/home", tt.inherit, tt.env); !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
