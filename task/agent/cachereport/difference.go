package cachereport

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/internal/stamp"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Cause is what has made two windows differ.
type Cause string

// The causes.
const (
	// ByClock is a time, ByID a drawn or counted name, in a text that is otherwise the same at that place.
	ByClock Cause = "clock"
	ByID    Cause = "id" // see ByClock
	// ByKeyOrder is JSON that is equal but for its spelling: the order of keys, above all.
	ByKeyOrder Cause = "key_order"
	// ByTools is a tool more or less, or another order of them.
	ByTools Cause = "tool_set"
	// ByMemory is another memory block.
	ByMemory Cause = "memory"
	// ByText is none of these.
	ByText Cause = "text"
)

// Difference is where a window parts from an earlier one.
type Difference struct {
	Part window.Part `json:"part"`
	// Name is a tool's or a dep's.
	Name  string `json:"name,omitempty"`
	Cause Cause  `json:"cause"`
	// Byte counts from the beginning of the part's piece, Window from that of all pieces, both from 0.
	Byte   int `json:"byte"`
	Window int `json:"window"`
	// Was is what the earlier call has around there, Is what this one has; of tools it is their names.
	Was string `json:"was"`
	Is  string `json:"is"`
}

// String is the difference in words.
func (d *Difference) String() string {
	of := string(d.Part)
	if d.Name != "" {
		of += " " + d.Name
	}
	where := fmt.Sprintf("byte %s of the window, byte %s of %s", number(int64(d.Window)), number(int64(d.Byte)), of)
	change := fmt.Sprintf("%q was %q", d.Is, d.Was)
	switch d.Cause {
	case ByClock:
		return where + ": a clock: " + change
	case ByID:
		return where + ": an id: " + change
	case ByKeyOrder:
		return where + ": equal JSON with its keys in another order: " + change
	case ByTools:
		return where + ": a varying tool set: " + toolChange(strings.Fields(d.Was), strings.Fields(d.Is))
	case ByMemory:
		return where + ": another memory block: " + change
	}
	return where + ": " + change
}

// toolChange says what has become of a list of tools.
func toolChange(was, is []string) string {
	var parts []string
	without := func(of, others []string) (names []string) {
		for _, name := range of {
			if !slices.Contains(others, name) {
				names = append(names, name)
			}
		}
		return names
	}
	if added := without(is, was); len(added) > 0 {
		parts = append(parts, "with "+strings.Join(added, ", "))
	}
	if gone := without(was, is); len(gone) > 0 {
		parts = append(parts, "without "+strings.Join(gone, ", "))
	}
	if len(parts) == 0 {
		return "in another order: " + strings.Join(is, ", ") + ", not " + strings.Join(was, ", ")
	}
	return strings.Join(parts, " and ")
}

// Differ finds the first byte in which a window differs from an earlier one. Nil is one that goes on where the earlier one
// ends, what was recited there aside.
func Differ(earlier, later window.View) *Difference {
	was, is := earlier.Spans(), later.Spans()
	at := 0
	for i := range was {
		a := was[i]
		if a.Part == window.PartRecitation {
			return nil
		}
		if i == len(is) {
			return &Difference{Part: a.Part, Name: a.Name, Cause: ByText, Window: at, Was: excerpt(a.Text, 0)}
		}
		b := is[i]
		if a.Part == b.Part && a.Name == b.Name && a.Role == b.Role && a.Kind == b.Kind && a.Text == b.Text {
			at += len(a.Text)
			continue
		}
		d := &Difference{Part: b.Part, Name: b.Name, Byte: common(a.Text, b.Text)}
		if a.Part != b.Part {
			d.Byte = 0
		}
		d.Window = at + d.Byte
		d.Was, d.Is = excerpt(a.Text, d.Byte), excerpt(b.Text, d.Byte)
		d.blame(earlier, later, a, b)
		return d
	}
	return nil
}

// blame says what has changed.
func (d *Difference) blame(earlier, later window.View, a, b window.Span) {
	was, is := names(earlier.Tools), names(later.Tools)
	inTools := a.Part == window.PartTools || b.Part == window.PartTools
	switch {
	case inTools && !slices.Equal(was, is):
		d.Part, d.Cause = window.PartTools, ByTools
		d.Was, d.Is = strings.Join(was, " "), strings.Join(is, " ")
	case a.Part == window.PartMemory || b.Part == window.PartMemory:
		d.Part, d.Cause = window.PartMemory, ByMemory
	case a.Part != b.Part:
		d.Cause = ByText
	default:
		d.Cause = changed(a.Text, b.Text, d.Byte)
		if d.Cause == ByClock || d.Cause == ByID {
			x, _ := stamp.At(a.Text, d.Byte)
			y, _ := stamp.At(b.Text, d.Byte)
			d.Was, d.Is = x.Text, y.Text
		}
	}
}

// changed says what makes texts differ that are the same up to a byte.
func changed(a, b string, at int) Cause {
	x, found := stamp.At(a, at)
	y, too := stamp.At(b, at)
	switch {
	case reordered(a, b, at):
		return ByKeyOrder
	case found && too && x.From == y.From && x.Kind == stamp.ID && y.Kind == stamp.ID:
		return ByID
	case found && too && x.From == y.From:
		return ByClock
	}
	return ByText
}

// Bounds of the search for JSON around a byte: how far before it, and how many openings are tried.
const (
	mostBefore = 64 << 10
	mostOpened = 256
)

// reordered says that the byte stands in a JSON value that is the same in both texts, but for its spelling.
func reordered(a, b string, at int) bool {
	tried := 0
	for i := at - 1; i >= 0 && at-i < mostBefore && tried < mostOpened; i-- {
		if a[i] != '{' {
			continue
		}
		tried++
		x, y := leading(a[i:]), leading(b[i:])
		if x == nil || y == nil || len(x) <= at-i || len(y) <= at-i {
			continue
		}
		one, err := schema.Canonical(x)
		two, wrong := schema.Canonical(y)
		if err == nil && wrong == nil && string(one) == string(two) {
			return true
		}
	}
	return false
}

// leading is the JSON value that a text begins with, or nil.
func leading(text string) json.RawMessage {
	var raw json.RawMessage
	if json.NewDecoder(strings.NewReader(text)).Decode(&raw) != nil {
		return nil
	}
	return raw
}

func names(tools []window.Tool) []string {
	list := make([]string, len(tools))
	for i, t := range tools {
		list[i] = t.Name
	}
	return list
}

// common is how many bytes two texts begin with in common.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Bytes that an excerpt has before and behind its place.
const (
	before = 12
	behind = 28
)

// excerpt is what stands around a byte.
func excerpt(text string, at int) string {
	return strings.ToValidUTF8(text[max(0, at-before):min(len(text), at+behind)], "")
}

// alike says that two conversations are of one agent that should not differ: most of the tools are the same, and the system
// texts begin and end the same, for the greater part.
func alike(a, b *window.Setup) bool {
	was, is := names(a.Tools), names(b.Tools)
	both := 0
	for _, name := range was {
		if slices.Contains(is, name) {
			both++
		}
	}
	if 2*both < max(len(was), len(is)) {
		return false
	}
	x, y := a.Text(), b.Text()
	if len(x) == 0 || len(y) == 0 {
		return len(x) == len(y) && len(was)+len(is) > 0
	}
	begin := common(x, y)
	end := 0
	for most := min(len(x), len(y)) - begin; end < most && x[len(x)-1-end] == y[len(y)-1-end]; {
		end++
	}
	return 2*(begin+end) >= max(len(x), len(y))
}
