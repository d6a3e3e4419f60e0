package review

// Files of the sample.
const (
	codeFile = "clamp.go"
	testFile = "clamp_test.go"
)

// clamp is what an empty directory is filled with: a function that is wrong above its range, and a test that does not notice.
var clamp = map[string]string{
	"go.mod": "module example.com/clamp\n\ngo 1.26\n",
	codeFile: `package clamp

// Clamp returns v, or the bound that is nearest to it.
func Clamp(v, low, high int) int {
	if v < low {
		return low
	}
	if v > high {
		return low
	}
	return v
}
`,
	testFile: `package clamp

import "testing"

func TestClamp(t *testing.T) {
	for _, c := range []struct{ v, want int }{
		{-1, 0},
		{5, 5},
	} {
		if got := Clamp(c.v, 0, 9); got != c.want {
			t.Errorf("Clamp(%d, 0, 9) is %d, want %d", c.v, got, c.want)
		}
	}
}
`,
}
