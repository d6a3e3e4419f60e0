package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/cairnrun/cairn"
)

// Decode reads a frame. Bytes that are no frame are an error, never a panic. Outputs and inputs of the frame are slices
// of body, which must not change any more.
//
// A resume decodes every frame of the run, so the ordinary ones, as Encode writes them, are read by a scanner of few
// lines, ten times as fast as by reflection. Whatever it does not expect, encoding/json reads from the start.
func Decode(body []byte) (*Frame, error) {
	f := &Frame{}
	s := scanner{raw: body}
	if s.frame(f); s.failed || s.at != len(body) {
		f = &Frame{}
		if err := json.Unmarshal(body, f); err != nil {
			return nil, fmt.Errorf("not a frame: %w", err)
		}
	}
	if f.N < 1 {
		return nil, fmt.Errorf("not a frame: number %d", f.N)
	}
	return f, nil
}

// scanner reads the compact JSON that encoding/json writes. It gives up at the first byte that it does not expect.
type scanner struct {
	raw    []byte
	at     int
	failed bool
}

func (s *scanner) frame(f *Frame) {
	s.object(func(name []byte) {
		switch string(name) {
		case "n":
			f.N = s.number()
		case "t":
			f.Time = s.number()
		case "prev":
			f.Prev = s.text()
		case "ev":
			s.array(f.Events != nil, func() {
				f.Events = append(f.Events, Event{})
				s.event(&f.Events[len(f.Events)-1])
			})
		case "do":
			s.array(f.Decisions != nil, func() {
				f.Decisions = append(f.Decisions, Decision{})
				s.decision(&f.Decisions[len(f.Decisions)-1])
			})
		case "structure":
			f.Structure = s.text()
		case "input":
			f.Input = s.text()
		case "policy":
			f.Policy = s.text()
		case "plan":
			s.delta(&f.Plan)
		default:
			s.failed = true
		}
	})
}

func (s *scanner) delta(d *Delta) {
	s.object(func(name []byte) {
		switch string(name) {
		case "set":
			s.array(d.Set != nil, func() {
				d.Set = append(d.Set, Line{})
				s.line(&d.Set[len(d.Set)-1])
			})
		case "gone":
			s.texts(&d.Gone)
		default:
			s.failed = true
		}
	})
}

func (s *scanner) line(l *Line) {
	s.object(func(name []byte) {
		switch string(name) {
		case "p":
			l.Path = s.text()
		case "k":
			l.Kind = cairn.Kind(s.text())
		case "after":
			s.texts(&l.After)
		case "s":
			l.Schema = s.text()
		default:
			s.failed = true
		}
	})
}

func (s *scanner) event(e *Event) {
	s.object(func(name []byte) {
		switch string(name) {
		case "k":
			e.Kind = EventKind(s.text())
		case "p":
			e.Path = s.text()
		case "a":
			e.Attempt = int(s.number())
		case "o":
			e.Output = s.value()
		case "cached":
			e.Cached = s.truth()
		case "name":
			e.Name = s.text()
		case "in":
			e.Payload = s.value()
		case "limit":
			e.Limit = int(s.number())
		case "grace":
			e.Grace = s.number()
		case "recalls":
			s.reflect(&e.Recalls)
		case "usage":
			s.reflect(&e.Usage)
		case "art":
			s.reflect(&e.Artifacts)
		case "f":
			s.reflect(&e.Failure)
		default:
			s.failed = true
		}
	})
}

func (s *scanner) decision(d *Decision) {
	s.object(func(name []byte) {
		switch string(name) {
		case "k":
			d.Kind = DecisionKind(s.text())
		case "p":
			d.Path = s.text()
		case "a":
			d.Attempt = int(s.number())
		case "s":
			d.Schema = s.text()
		case "ih":
			d.InputHash = s.text()
		case "in":
			d.Input = s.value()
		case "reads":
			s.texts(&d.Reads)
		case "on":
			s.texts(&d.Budgets)
		case "fork":
			d.Fork = s.text()
		case "pol":
			s.reflect(&d.Policy)
		case "at":
			d.At = s.number()
		case "i":
			d.I = int(s.number())
		default:
			s.failed = true
		}
	})
}

// take consumes the byte if it comes next.
func (s *scanner) take(c byte) bool {
	if s.failed || s.at >= len(s.raw) || s.raw[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) want(c byte) {
	if !s.take(c) {
		s.failed = true
	}
}

// object reads members in the order they stand in.
func (s *scanner) object(field func(name []byte)) {
	s.want('{')
	for more := !s.take('}'); more && !s.failed; {
		name := s.bytes()
		s.want(':')
		if s.failed {
			return
		}
		field(name)
		if more = s.take(','); !more {
			s.want('}')
		}
	}
}

func (s *scanner) array(begun bool, element func()) {
	// A list that comes twice would be merged by encoding/json in a way of its own.
	if s.want('['); begun {
		s.failed = true
	}
	for more := !s.take(']'); more && !s.failed; {
		element()
		if more = s.take(','); !more {
			s.want(']')
		}
	}
}

func (s *scanner) texts(list *[]string) {
	s.array(*list != nil, func() { *list = append(*list, s.text()) })
}

// text reads a string of plain ASCII without escapes.
func (s *scanner) text() string { return string(s.bytes()) }

func (s *scanner) bytes() []byte {
	s.want('"')
	for i := s.at; i < len(s.raw) && !s.failed; i++ {
		switch c := s.raw[i]; {
		case c == '"':
			out := s.raw[s.at:i]
			s.at = i + 1
			return out
		case c == '\\' || c < ' ' || c >= 0x80:
			s.failed = true
		}
	}
	s.failed = true
	return nil
}

// truth reads a true; Encode leaves a false out.
func (s *scanner) truth() bool {
	if s.failed || !bytes.HasPrefix(s.raw[s.at:], []byte("true")) {
		s.failed = true
		return false
	}
	s.at += 4
	return true
}

// number reads an integer.
func (s *scanner) number() int64 {
	from := s.at
	s.take('-')
	for s.at < len(s.raw) && s.raw[s.at] >= '0' && s.raw[s.at] <= '9' {
		s.at++
	}
	digits := s.raw[from:s.at]
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || len(digits) > 1 && digits[0] == '0' || len(digits) > 2 && digits[1] == '0' && digits[0] == '-' || string(digits) == "-0" {
		s.failed = true
	}
	return n
}

// value takes one JSON value as it stands.
func (s *scanner) value() json.RawMessage {
	from, depth := s.at, 0
	for ; s.at < len(s.raw); s.at++ {
		switch s.raw[s.at] {
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth > 0 {
				continue
			}
			if depth == 0 {
				s.at++
			}
		case '"':
			s.skipString()
			if depth > 0 {
				continue
			}
			s.at++
		case ',':
			if depth > 0 {
				continue
			}
		default:
			continue
		}
		break
	}
	if s.at > len(s.raw) { // it ends within a string
		s.failed = true
		return nil
	}
	raw := s.raw[from:s.at:s.at]
	if s.failed || !json.Valid(raw) {
		s.failed = true
		return nil
	}
	return raw
}

// skipString leaves the scanner on the closing quote.
func (s *scanner) skipString() {
	for s.at++; s.at < len(s.raw); s.at++ {
		switch s.raw[s.at] {
		case '\\':
			s.at++
		case '"':
			return
		}
	}
	s.failed = true
}

// reflect leaves a value that is rare, or rich, to encoding/json.
func (s *scanner) reflect(to any) {
	if raw := s.value(); !s.failed && json.Unmarshal(raw, to) != nil {
		s.failed = true
	}
}
