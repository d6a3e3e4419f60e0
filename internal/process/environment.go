package process

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// Environment is what a child sees of this process: PATH and LANG as they are here, HOME as given, the variables named in
// inherit, and env, as NAME=value. Of two with one name env counts, then inherit. Nothing else gets in, so that a secret has
// to be handed on by name.
func Environment(home string, inherit, env []string) []string {
	var out []string
	add := func(one string) {
		name, _, _ := strings.Cut(one, "=")
		if !slices.ContainsFunc(out, func(have string) bool { return strings.HasPrefix(have, name+"=") }) {
			out = append(out, one)
		}
	}
	for _, one := range slices.Backward(env) { // the last of equal names counts, as everywhere
		add(one)
	}
	for _, name := range inherit {
		if value, ok := os.LookupEnv(name); ok {
			add(name + "=" + value)
		}
	}
	for _, one := range []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8")} {
		add(one)
	}
	slices.Sort(out)
	return out
}
