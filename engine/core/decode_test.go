package core_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// FuzzDecodeAgrees holds the scanner against encoding/json: whatever bytes there are, both read the same or neither does.
func FuzzDecodeAgrees(f *testing.F) {
	for _, seed := range []string{
		`{"n":1,"t":5}`, `{"n":123,"t":-1,"prev":"2f","ev":[{"k":"done","p":"t","a":1,"o":{"a":[1,"]\"}",{}]}}],"do":[{"k":"start","p":"x","a":1,"s":"67","ih":"1","in":"p","reads":["a"],"pol":{"optional":true}}],"plan":{"set":[{"p":"a","k":"task"}]},"structure":"0"}`,
		`{"n":2,"t":1,"ev":[{"k":"failed","p":"t","a":1,"f":{"code":"X"},"usage":[{"model":"m","input":3}]}]}`,
		`{"n":2,"t":1,"ev":[{"k":"done","p":"t","a":1,"o":1,"cached":true}]}`, `{"n":1,"ev":[{"cached":false}]}`, `{"n":1,"ev":[{"cached":tru`, `{"n":1,"ev":[{"cached":null}]}`,
		`{"n":2,"n":3}`, `{"n":01}`, `{"n":1.5}`, `{"n":1,"ev":null}`, `{"n":1,"ev":[{"o":}]}`, `{"n":1,"prev":"\u0041é"}`, `{"N":4}`, `{"n":1,"ev":[{"p":"a","p":null}]}`,
		`{"n":1,"ev":[],"ev":[{"k":"x"}]}`, ` {"n":1}`, `{"n":1}x`, `{"n":-0}`, `{"n":1,"do":[{"in":"a" }]}`, `{"n":9223372036854775808}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := core.Decode(body)
		var want core.Frame
		wantErr := json.Unmarshal(body, &want)
		if wantErr == nil && want.N < 1 {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, and encoding/json says %v", body, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(normal(*got), normal(want)) {
			t.Fatalf("%s:\n%+v\n%+v", body, *got, want)
		}
	})
}

// normal takes a frame through its encoding: empty and nil lists are one.
func normal(f core.Frame) any {
	raw, err := f.Encode()
	if err != nil {
		return err.Error()
	}
	var out core.Frame
	if err := json.Unmarshal(raw, &out); err != nil {
		return err.Error()
	}
	return out
}

// The frames that a resume reads by the thousand must not fall back to reflection, the first and largest one included.
func TestOrdinaryFramesAreScanned(t *testing.T) {
	s := start(t, flow(func(v *cairn.View) cairn.Node {
		return seq(T("a"), par(T("b"), T("c")), cairn.Loop{ID: "l", Until: func(*cairn.View) bool { return true }, Body: func(*cairn.View) cairn.Node { return T("d") }}, T("out"))
	}))
	for _, path := range []string{"a", "b", "c", "l[0]/d", "out"} {
		s.done(path, 1)
	}
	for _, body := range s.bodies[:len(s.bodies)-1] { // the last one ends the run
		if allocs := testing.AllocsPerRun(10, func() { _, _ = core.Decode(body) }); allocs > 50 {
			t.Errorf("%v allocations for %s", allocs, body)
		}
	}
}
