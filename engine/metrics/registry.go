package metrics

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/cairnrun/cairn/engine"
)

// Registry is an engine.Metrics that keeps its counters in memory. The zero value is ready. It is safe for concurrent use
// and must not be copied.
type Registry struct {
	mu       sync.Mutex
	counters map[string]map[string]*Sample // by name, then by labels
}

// Sample is a counter and where it stands: Value is the sum of what was counted, in the unit that its name says.
type Sample struct {
	Name string
	// Labels are in the order they were counted with.
	Labels []engine.Label
	Value  int64
}

// Count adds to a counter. One that no int64 holds stays at the greatest, and a delta that is not positive adds nothing.
func (r *Registry) Count(name string, delta int64, labels ...engine.Label) {
	if delta <= 0 {
		return
	}
	var key strings.Builder
	for _, l := range labels {
		fmt.Fprintf(&key, "%d:%s%d:%s", len(l.Name), l.Name, len(l.Value), l.Value)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counters == nil {
		r.counters = map[string]map[string]*Sample{}
	}
	if r.counters[name] == nil {
		r.counters[name] = map[string]*Sample{}
	}
	s := r.counters[name][key.String()]
	if s == nil {
		s = &Sample{Name: name, Labels: slices.Clone(labels)}
		r.counters[name][key.String()] = s
	}
	s.Value += min(delta, math.MaxInt64-s.Value)
}

// Samples lists all counters that were counted, ordered by name and then by the values of the labels. The slice is the
// caller's.
func (r *Registry) Samples() (all []Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.counters)) {
		from := len(all)
		for _, s := range r.counters[name] {
			all = append(all, *s)
		}
		slices.SortFunc(all[from:], compare)
	}
	return all
}

func compare(a, b Sample) int {
	return slices.CompareFunc(a.Labels, b.Labels, func(a, b engine.Label) int {
		if by := strings.Compare(a.Name, b.Name); by != 0 {
			return by
		}
		return strings.Compare(a.Value, b.Value)
	})
}

// WriteTo writes all counters in the text format of Prometheus, version 0.0.4, in the order of Samples. It returns how
// many bytes were written, and the error of w.
func (r *Registry) WriteTo(w io.Writer) (int64, error) {
	counted := &counting{w: w}
	out := bufio.NewWriter(counted)
	name := ""
	for _, s := range r.Samples() {
		if s.Name != name {
			name = s.Name
			if help := engine.MetricHelp(name); help != "" {
				fmt.Fprintf(out, "# HELP %s %s\n", name, helpText.Replace(help))
			}
			fmt.Fprintf(out, "# TYPE %s counter\n", name)
		}
		out.WriteString(name)
		for i, l := range s.Labels {
			open := ","
			if i == 0 {
				open = "{"
			}
			fmt.Fprintf(out, `%s%s="%s"`, open, l.Name, labelText.Replace(strings.ToValidUTF8(l.Value, "\ufffd")))
		}
		if len(s.Labels) > 0 {
			out.WriteString("}")
		}
		fmt.Fprintf(out, " %d\n", s.Value)
	}
	err := out.Flush()
	return counted.n, err
}

// What the format escapes: in a label's value, and in a help.
var (
	labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	helpText  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
