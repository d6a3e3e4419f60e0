package memory_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/memory"
)

func TestParseNamespaceIsStrict(t *testing.T) {
	for _, s := range []string{"workflow:code-review", "agent:a:b", "user:%", "global:ü x", "user::"} {
		ns, err := memory.ParseNamespace(s)
		if err != nil || ns.String() != s {
			t.Errorf("%q: %v, %v", s, ns, err)
		}
	}
	for _, s := range []string{"", "workflow", "workflow:", ":x", "Workflow:x", " workflow:x", "workflow: x", "workflow:x ", "team:x",
		"workflow:a\nb", "workflow:a\x00", "workflow:\xff", "workflow:a\u200bb"} {
		if ns, err := memory.ParseNamespace(s); !errors.Is(err, memory.InvalidName) {
			t.Errorf("%q: %v, %v", s, ns, err)
		}
	}
	if _, err := memory.ParseNamespace("user:" + strings.Repeat("x", memory.MaxName+1)); !errors.Is(err, memory.TooLarge) {
		t.Error(err)
	}
}

// Two namespaces print alike only if they are the same.
func FuzzNamespace(f *testing.F) {
	f.Add("workflow", "a:b")
	f.Add("user", "a b")
	f.Fuzz(func(t *testing.T, kind, id string) {
		ns := memory.Namespace{Kind: memory.Kind(kind), ID: id}
		if ns.Check() != nil {
			return
		}
		if back, err := memory.ParseNamespace(ns.String()); err != nil || back != ns {
			t.Fatalf("%+v became %+v, %v", ns, back, err)
		}
		var decoded memory.Namespace
		raw, err := json.Marshal(ns)
		if err == nil {
			err = json.Unmarshal(raw, &decoded)
		}
		if err != nil || decoded != ns {
			t.Fatalf("%+v became %+v, %v", ns, decoded, err)
		}
	})
}

// A window keeps the newest messages that fit, whole, and as many as it can.
func TestWindowsKeepWholeCalls(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []memory.Message
		open := []string{}
		for i := range rapid.IntRange(0, 20).Draw(rt, "messages") {
			m := memory.Message{ID: string(rune('a' + i)), Seq: int64(i + 1), Role: memory.User, Content: strings.Repeat("x", rapid.IntRange(0, 4).Draw(rt, "size"))}
			switch rapid.IntRange(0, 3).Draw(rt, "role") {
			case 0:
				m.Role = memory.System
			case 1:
				m.Role, m.Calls = memory.Assistant, []string{"call " + m.ID}
				open = append(open, m.Calls...)
			case 2:
				if len(open) > 0 {
					m.Role, m.Answers = memory.Tool, rapid.SampledFrom(open).Draw(rt, "of")
				}
			}
			list = append(list, m)
		}
		w := memory.Window{Last: rapid.IntRange(0, 6).Draw(rt, "last"), Bytes: rapid.IntRange(0, 20).Draw(rt, "bytes"), KeepSystem: rapid.Bool().Draw(rt, "system")}
		kept := w.Keep(list)
		got := map[int64]bool{}
		bytes, plain := 0, 0
		for i, m := range kept {
			if i > 0 && m.Seq <= kept[i-1].Seq {
				rt.Fatal("the order is lost")
			}
			got[m.Seq] = true
			bytes += len(m.Content)
			if m.Role != memory.System {
				plain++
			}
		}
		if !w.KeepSystem {
			plain = len(kept)
			if w.Bytes > 0 && bytes > w.Bytes {
				rt.Fatalf("%d bytes of %d", bytes, w.Bytes)
			}
		}
		if w.Last > 0 && plain > w.Last {
			rt.Fatalf("%d messages of %d", plain, w.Last)
		}
		cut := int64(0) // the last one that was left out
		for _, m := range list {
			if !got[m.Seq] && !(w.KeepSystem && m.Role == memory.System) {
				cut = m.Seq
			}
			if w.KeepSystem && m.Role == memory.System && !got[m.Seq] {
				rt.Fatal("a system message is lost")
			}
			for _, r := range list {
				if m.Role == memory.Assistant && r.Answers == m.Calls[0] && got[m.Seq] != got[r.Seq] {
					rt.Fatalf("%s and %s are parted", m.ID, r.ID)
				}
			}
		}
		for _, m := range list {
			if m.Seq > cut && !got[m.Seq] {
				rt.Fatal("there is a gap")
			}
		}
		if w.Last == 0 && w.Bytes == 0 && len(kept) != len(list) {
			rt.Fatal("no limit, and something is left out")
		}
		old, rest := memory.Split(list, rapid.IntRange(0, 6).Draw(rt, "keep"))
		in := map[int64]bool{}
		for _, m := range old {
			in[m.Seq] = true
			if m.Role == memory.System {
				rt.Fatal("a system message would be summarized")
			}
		}
		if len(old)+len(rest) != len(list) {
			rt.Fatal("something is lost")
		}
		for _, m := range list {
			for _, r := range list {
				if m.Role == memory.Assistant && r.Answers == m.Calls[0] && in[m.Seq] != in[r.Seq] {
					rt.Fatalf("%s and %s are parted", m.ID, r.ID)
				}
			}
		}
	})
}
