package core_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/cairnrun/cairn/engine/core"
)

// FuzzDecode: bytes from a store are a frame or an error. A frame goes through the codec unchanged, and folding it onto
// any state is an error at worst.
func FuzzDecode(f *testing.F) {
	for _, body := range traces(f) {
		f.Add(body)
	}
	for _, body := range []string{
		``, `null`, `{}`, `[]`, `{"n":1}`, `{"n":-1}`, `{"n":1e99}`, `{"n":1,"ev":[{"k":"done","p":"out","a":1}]}`, `{"n":1,"ev":[null],"do":[null]}`,
		`{"n":1,"ev":[{"k":"started","p":"r"}],"do":[{"k":"start","p":"x","a":1},{"k":"settled","p":"x"},{"k":"fail","p":"x"},{"k":"retry","p":"x"}]}`,
		`{"n":1,"do":[{"k":"until","p":"l","i":-9223372036854775808},{"k":"until","p":"l","i":9223372036854775807}]}`,
		`{"n":1,"do":[{"k":"close","p":"t"},{"k":"enter","p":"t","phase":"nonsense"},{"k":"patch"},{"k":"skip","p":"a[0]/b[9999999999999999999]/c"}]}`,
		`{"n":1,"plan":{"set":[{"p":"x","k":"task","after":["a"]}],"gone":["y"],"full":true}}`,
		`{"n":1,"do":[{"k":"start","pol":{"0\`, `{"n":1,"do":[{"k":"start","in":"\`,
		`{"n":1,"ev":[{"k":"started","env":null,"kept":[{"p":"out"},{"p":"out","o":null}]},{"k":"handed-over"}],"do":[{"k":"hand-over","p":"x"},{"k":"succeed"},{"k":"end","status":"continued"}]}`,
		`{"n":1,"n":2,"N":3}`, `{"n":1,"ev":[{"k":"done","o":{"a" : 1},"f":{"cause":{"cause":null}}}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		frame, err := core.Decode(body)
		if err != nil {
			return
		}
		once, err := frame.Encode()
		if err != nil {
			t.Fatalf("a decoded frame does not encode: %v", err)
		}
		again, err := core.Decode(once)
		if err != nil {
			t.Fatalf("an encoded frame does not decode: %v\n%s", err, once)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("a frame changes in the codec: %v\n%s\n%s", err, once, twice)
		}
		for _, state := range states(t) {
			frame.N, frame.Prev, frame.Time = state.Frame+1, state.Hash, max(frame.Time, state.Time)
			if state.Fold(frame, core.Hash(once)) != nil {
				continue
			}
			if _, err := state.Clone(); err != nil {
				t.Fatalf("a folded state does not go through JSON: %v", err)
			}
			core.Lines{}.Fold(frame.Plan)
		}
	})
}

// states are some to fold onto: the empty one, and one in the middle of a run.
func states(t *testing.T) []*core.State {
	middle := core.NewState()
	raw := `{"run":"r","frame":4,"status":"running","tasks":{"out":{"status":"running","attempt":1},"x":{"status":"waiting","attempt":2,"at":5},"l[0]/y":{"status":"done","frame":2,"output":1},"z":null},"loops":{"l":{"iteration":1}},"tries":{"#try":{"closing":true}}}`
	if err := json.Unmarshal([]byte(raw), middle); err != nil {
		t.Fatal(err)
	}
	return []*core.State{core.NewState(), middle}
}

// TestDecodeOfCutFrames: a frame that ends anywhere, with nothing behind it in memory, is an error.
func TestDecodeOfCutFrames(t *testing.T) {
	body := []byte(`{"n":1,"t":2,"ev":[{"k":"done","p":"a","o":{"a":"b\\"},"f":{"code":"X"}}],"do":[{"k":"start","p":"b","in":["c\""],"pol":{"priority":1}}]}`)
	if _, err := core.Decode(body); err != nil {
		t.Fatal(err)
	}
	for i := range body {
		if _, err := core.Decode(bytes.Clone(body[:i:i])[:i:i]); err == nil {
			t.Errorf("%s is taken for a frame", body[:i])
		}
	}
}
