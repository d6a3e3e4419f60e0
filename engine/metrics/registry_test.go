package metrics_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/metrics"
)

var _ engine.Metrics = (*metrics.Registry)(nil)

func text(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	var b strings.Builder
	n, err := r.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d bytes of %d, %v", n, b.Len(), err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	var r metrics.Registry
	if got := text(t, &r); got != "" {
		t.Errorf("nothing was counted: %q", got)
	}
	w := engine.Label{Name: "workflow", Value: "w"}
	r.Count(engine.MetricTokens, 7, w, engine.Label{Name: "model", Value: "z"}, engine.Label{Name: "kind", Value: "output"})
	r.Count(engine.MetricTokens, 2, w, engine.Label{Name: "model", Value: "a \"b\"\\c\nd\xff"}, engine.Label{Name: "kind", Value: "input"})
	r.Count(engine.MetricTokens, 3, w, engine.Label{Name: "model", Value: "z"}, engine.Label{Name: "kind", Value: "output"})
	r.Count(engine.MetricFrames, 1, w)
	r.Count(engine.MetricFrames, 0, engine.Label{Name: "workflow", Value: "never"})
	r.Count(engine.MetricFrames, -1, w)
	r.Count("bare", math.MaxInt64)
	r.Count("bare", 1)
	want := `# TYPE bare counter
bare 9223372036854775807
# HELP cairn_frames_total Frames committed.
# TYPE cairn_frames_total counter
cairn_frames_total{workflow="w"} 1
# HELP cairn_tokens_total Tokens of model calls, by model and kind.
# TYPE cairn_tokens_total counter
cairn_tokens_total{workflow="w",model="a \"b\"\\c\nd�",kind="input"} 2
cairn_tokens_total{workflow="w",model="z",kind="output"} 10
`
	for range 3 {
		if got := text(t, &r); got != want {
			t.Fatalf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

// Two labels never run into one another, whatever is in them.
func TestLabelsAreApart(t *testing.T) {
	var r metrics.Registry
	for _, values := range [][2]string{{"a", "b"}, {"ab", ""}, {"", "ab"}, {"a1:b", ""}, {`a",b="`, ""}} {
		r.Count("n", 1, engine.Label{Name: "a", Value: values[0]}, engine.Label{Name: "b", Value: values[1]})
	}
	if n := len(r.Samples()); n != 5 {
		t.Errorf("%d counters of 5", n)
	}
}

func TestConcurrentCounts(t *testing.T) {
	var r metrics.Registry
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 1000 {
				r.Count("n", 1, engine.Label{Name: "of", Value: strconv.Itoa(i % 2)})
				if len(r.Samples()) == 0 {
					t.Error("nothing there")
				}
			}
		})
	}
	all.Wait()
	if got := r.Samples(); len(got) != 2 || got[0].Value != 4000 || got[1].Value != 4000 {
		t.Errorf("%+v", got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteFails(t *testing.T) {
	var r metrics.Registry
	r.Count("n", 1)
	if _, err := r.WriteTo(full{}); err == nil {
		t.Error("no error")
	}
}

// What is written reads back as the grammar of the format has it, whatever the labels say.
func FuzzTextFormat(f *testing.F) {
	f.Add("model", "w\\o\"r\nk", int64(3))
	f.Fuzz(func(t *testing.T, a, b string, delta int64) {
		var r metrics.Registry
		for _, name := range []string{engine.MetricAttempts, engine.MetricCost, "bare"} {
			r.Count(name, delta, engine.Label{Name: "a", Value: a}, engine.Label{Name: "b", Value: b})
		}
		got, err := parse(text(t, &r))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, s := range r.Samples() {
			want = append(want, fmt.Sprint(s.Name, valid(s.Labels[0].Value), valid(s.Labels[1].Value), s.Value))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{a="((?:[^"\\\n]|\\["\\n])*)",b="((?:[^"\\\n]|\\["\\n])*)"\} (\d+)$`)
	headerLine = regexp.MustCompile(`^# (HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) .*|TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) counter)$`)
	unescape   = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

func parse(text string) (samples []string, err error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return nil, errors.New("the last line has no end")
	}
	typed := map[string]bool{}
	scan := bufio.NewScanner(strings.NewReader(text))
	scan.Buffer(nil, 1<<24)
	scan.Split(func(data []byte, _ bool) (int, []byte, error) { // lines end with \n alone
		if i := slices.Index(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for scan.Scan() {
		if m := headerLine.FindStringSubmatch(scan.Text()); m != nil {
			if m[3] != "" && typed[m[3]] {
				return nil, fmt.Errorf("the type of %s is told twice", m[3])
			}
			typed[m[3]] = m[3] != ""
			continue
		}
		m := sampleLine.FindStringSubmatch(scan.Text())
		if m == nil || !typed[m[1]] {
			return nil, fmt.Errorf("line %q", scan.Text())
		}
		samples = append(samples, m[1]+unescape.Replace(m[2])+unescape.Replace(m[3])+m[4])
	}
	return samples, scan.Err()
}
