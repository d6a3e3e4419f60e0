package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/cairnrun/cairn"
)

// maxBrief is how much of a message a line shows; inspect shows all.
const maxBrief = 200

// brief is a failure in one line.
func brief(f *cairn.Failure) string {
	if f == nil {
		return "a failure"
	}
	if text := briefMessage(f); text != "" && text != string(f.Code) {
		return string(f.Code) + ": " + text
	}
	return string(f.Code)
}

// briefMessage is as much of a failure's message as a line has room for.
func briefMessage(f *cairn.Failure) string { return short(oneLine(f.Message), maxBrief) }

// short cuts a text to n runes.
func short(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "…"
}

// span is a duration for people.
func span(millis int64) string {
	d := time.Duration(millis) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", millis)
	case millis < 59_950: // or it would round to 60.0s
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// clock is a moment in events and frames.
const clock = "2006-01-02T15:04:05.000Z07:00"

// count is a number with its noun.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// row writes the cells of a table's line.
func row(w io.Writer, cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }

// table calls fn with a writer that aligns what row writes.
func (a *app) table(fn func(w io.Writer)) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fn(w)
	return w.Flush()
}

// put writes one JSON object as a line on stdout.
func (a *app) put(v any) error { return encode(a.out, v) }

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
