package schema_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/internal/schema"
)

type panics struct{}

func (*panics) MarshalJSON() ([]byte, error) { panic("in marshal") }
func (*panics) UnmarshalJSON(_ []byte) error { panic("in unmarshal") }

type valueMarshaler struct{}

func (valueMarshaler) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

func TestEncode(t *testing.T) {
	zone := time.FixedZone("X", 3600)
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"nil", nil, `null`},
		{"nil pointer", (*step)(nil), `null`},
		{"nil slice", []int(nil), `null`},
		{"empty slice", []int{}, `[]`},
		{"nil map", map[string]int(nil), `null`},
		{"map keys", map[string]int{"b": 1, "a": 2}, `{"a":2,"b":1}`},
		{"zero time", time.Time{}, `"0001-01-01T00:00:00Z"`},
		{"time with zone", time.Date(2026, 1, 2, 3, 4, 5, 6, zone), `"2026-01-02T03:04:05.000000006+01:00"`},
		{"bytes", []byte{0, 255}, `"AP8="`},
		{"html", "<a&b>", `"<a&b>"`},
		{"big integer", int64(math.MaxInt64), `9223372036854775807`},
		{"declaration order", struct{ B, A int }{1, 2}, `{"B":1,"A":2}`},
		{"invalid bytes", "a\xff\xfeb", `"a��b"`},
		{"replacement character", "\uFFFD", `"�"`},
		{"backslash before ufffd", `\ufffd`, `"\\ufffd"`},
		{"invalid bytes in raw", json.RawMessage("{\"a\": \"\xff\"}"), `{"a":"�"}`},
	}
	for _, tt := range tests {
		got, err := schema.Encode(tt.v)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	type ring struct{ Next *ring }
	loop := &ring{}
	loop.Next = loop
	for name, v := range map[string]any{
		"NaN":                                    math.NaN(),
		"infinity":                               struct{ X []float64 }{[]float64{math.Inf(1)}},
		"channel":                                map[string]any{"c": make(chan int)},
		"function":                               func() {},
		"cycle":                                  loop,
		"panic":                                  &panics{},
		"nil pointer with a method of its value": struct{ V json.Marshaler }{(*valueMarshaler)(nil)},
		"bad raw":                                json.RawMessage(`{`),
		"no number":                              struct{ R json.Number }{json.Number("x")},
	} {
		_, err := schema.Encode(v)
		var encodeErr *schema.EncodeError
		if !errors.As(err, &encodeErr) {
			t.Errorf("%s: %v, want an EncodeError", name, err)
		}
		t.Log(err)
	}
}

func TestEncodeIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.SampledFrom([]byte("\\uf d\"\xff\xef\xbf\xbd<\x00"))).Draw(t, "bytes"))
		first, err := schema.Encode(map[string]any{s: s})
		if err != nil {
			t.Fatal(err)
		}
		back, err := schema.Decode[map[string]any](first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := schema.Encode(back)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
	})
}

func TestDecode(t *testing.T) {
	type input struct {
		Goal  string              `json:"goal"`
		N     int8                `json:"n"`
		Items []struct{ X uint8 } `json:"items"`
		F     float32             `json:"f"`
		P     *panics             `json:"p"`
	}
	got, err := schema.Decode[input]([]byte(`{"goal":"g","n":-128,"items":[{"X":255}]} `))
	if err != nil || got.Goal != "g" || got.N != -128 || got.Items[0].X != 255 {
		t.Fatalf("%+v, %v", got, err)
	}
	dynamic, err := schema.DecodeType(reflect.TypeFor[input](), []byte(`{"goal":"g"}`))
	if v, ok := dynamic.(input); err != nil || !ok || v.Goal != "g" {
		t.Fatalf("%+v, %v", dynamic, err)
	}

	tests := []struct{ in, want string }{
		{`{"goal":"g","gaol":1}`, `unknown field "gaol"`},
		{`{"items":[{"Y":1}]}`, `unknown field "Y"`},
		{`{"n":128}`, "decode n: cannot hold number 128 as int8"},
		{`{"n":1.5}`, "decode n: cannot hold number 1.5 as int8"},
		{`{"f":1e39}`, "decode f: cannot hold number 1e39 as float32"},
		{`{"items":[{"X":256}]}`, "cannot hold number 256 as uint8"},
		{`{"goal":7}`, "decode goal: cannot hold number as string"},
		{`[]`, "cannot hold array as"},
		{`{"goal":"a"}{}`, "after top-level value"},
		{`{"goal":"a"} x`, "after top-level value"},
		{`{"goal":"a","goal":"b"}`, "decode goal: the key occurs twice"},
		{``, "unexpected end"},
		{`{"p":{}}`, "in unmarshal"},
	}
	for _, tt := range tests {
		_, err := schema.Decode[input]([]byte(tt.in))
		var decodeErr *schema.DecodeError
		if !errors.As(err, &decodeErr) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.in, err, tt.want)
		}
		if v, err := schema.DecodeType(reflect.TypeFor[input](), []byte(tt.in)); err == nil {
			t.Errorf("%s: got %v", tt.in, v)
		}
	}
}
