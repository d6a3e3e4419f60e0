package schema_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/internal/schema"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ in, want string }{
		{` { "b" : 1 , "a" : [ true , null ] } `, `{"a":[true,null],"b":1}`},
		{`{"é":1,"z":2,"A":3}`, `{"A":3,"z":2,"é":1}`},
		{`"\u00e9\/\u003c"`, `"é/<"`},
		{`"\b\f\n\r\t\u0001\u007f\"\\"`, "\"\\u0008\\u000c\\n\\r\\t\\u0001\u007f\\\"\\\\\""},
		{`"\ud800"`, `"�"`},
		{"\"\xff\xfe\"", `"��"`}, {"\"\xff\\n\xfe\"", `"�\n�"`},
		{`"😀"`, `"😀"`},
		{`{}`, `{}`}, {`[]`, `[]`}, {`""`, `""`},
		{`0`, `0`}, {`-0`, `0`}, {`-0.00e7`, `0`}, {`0e99999999999999999999`, `0`},
		{`1.0`, `1`}, {`1e0`, `1`}, {`100e-2`, `1`}, {`-12.50`, `-12.5`}, {`1E2`, `100`}, {`0.1`, `0.1`},
		{`9007199254740993`, `9007199254740993`},
		{`-123456789012345678901234567890`, `-123456789012345678901234567890`},
		{`1e21`, `1000000000000000000000`},
		{`0.000001`, `0.000001`}, {`1e-7`, `1e-7`}, {`12e-9`, `1.2e-8`}, {`0.0000012`, `0.0000012`},
		{`1e401`, `1e+401`}, {`12e400`, `12` + strings.Repeat("0", 400)},
		{`1e99999999999999999999`, `1e99999999999999999999`},
	}
	for _, tt := range tests {
		got, err := schema.Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, "unexpected end"},
		{`{`, "unexpected end"},
		{`{} {}`, "after top-level value"},
		{`[1,]`, "invalid character"},
		{`01`, "invalid character"},
		{`NaN`, "invalid character"},
		{`{"a":{"b":[0,{"k":1,"\u006b":2}]}}`, "decode a.b[1].k: the key occurs twice in one object"},
		{strings.Repeat("[", 100_000), "depth"},
	}
	for _, tt := range tests {
		_, err := schema.Canonical([]byte(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Canonical(%.40s): %v, want %q", tt.in, err, tt.want)
		}
	}
}

// doc draws a JSON text; equal drawings with another seed of spaces and key order are equal values.
func drawJSON(t *rapid.T, depth int) any {
	kinds := []string{"null", "bool", "string", "int", "big", "float"}
	if depth > 0 {
		kinds = append(kinds, "list", "object")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "string":
		return rapid.String().Draw(t, "string")
	case "int":
		return json.Number(strconv.FormatInt(rapid.Int64().Draw(t, "int"), 10))
	case "big":
		return json.Number(rapid.StringMatching(`-?[1-9][0-9]{15,60}`).Draw(t, "big"))
	case "float":
		return json.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "float"))
	case "list":
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "len"))
		for i := range list {
			list[i] = drawJSON(t, depth-1)
		}
		return list
	case "object":
		object := map[string]any{}
		for _, key := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "keys") {
			object[key] = drawJSON(t, depth-1)
		}
		return object
	}
	return nil
}

// write spells a value with keys in a drawn order and drawn white space.
func write(t *rapid.T, out *bytes.Buffer, v any) {
	space := func() { out.WriteString(rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")) }
	space()
	switch v := v.(type) {
	case []any:
		out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			write(t, out, item)
		}
		out.WriteByte(']')
	case map[string]any:
		var names []string
		for name := range v {
			names = append(names, name)
		}
		out.WriteByte('{')
		if len(names) > 0 {
			for i, name := range rapid.Permutation(names).Draw(t, "order") {
				if i > 0 {
					out.WriteByte(',')
				}
				write(t, out, name)
				out.WriteByte(':')
				write(t, out, v[name])
			}
		}
		out.WriteByte('}')
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(raw)
	}
	space()
}

func TestCanonicalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawJSON(t, 3)
		var one, two bytes.Buffer
		write(t, &one, v)
		write(t, &two, v)
		a, err := schema.Canonical(one.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", one.Bytes(), err)
		}
		b, err := schema.Canonical(two.Bytes())
		if err != nil || !bytes.Equal(a, b) {
			t.Fatalf("spelling matters: %s and %s, %v", a, b, err)
		}
		again, err := schema.Canonical(a)
		if err != nil || !bytes.Equal(a, again) {
			t.Fatalf("not idempotent: %s became %s, %v", a, again, err)
		}
	})
}

func TestCanonicalNumbersAreExact(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?`)
	rapid.Check(t, func(t *rapid.T) {
		in := number.Draw(t, "number")
		got, err := schema.Canonical([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := new(big.Rat).SetString(in)
		if have, ok := new(big.Rat).SetString(string(got)); !ok || have.Cmp(want) != 0 {
			t.Fatalf("%s became %s", in, got)
		}
		// Equal values, equal bytes: the same number spelled with its exact decimal expansion.
		if spelled := want.FloatString(1100); len(in) < 30 {
			same, err := schema.Canonical([]byte(spelled))
			if err != nil || !bytes.Equal(same, got) {
				t.Fatalf("%s gives %s, spelled out %s, %v", in, got, same, err)
			}
		}
		if !strings.ContainsAny(in, ".eE") && in != "-0" && string(got) != in {
			t.Fatalf("integer %s became %s", in, got)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1.50,"\ud83d\ude00",{}]}`, `1e-400`, `"\u2028<"`, `{"a":1,"a":2}`, "\"\xff\"", `[`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := schema.Canonical(raw)
		if err != nil {
			return
		}
		if !json.Valid(raw) || !json.Valid(got) {
			t.Fatalf("%q became %q", raw, got)
		}
		again, err := schema.Canonical(got)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("%q became %q, then %q, %v", raw, got, again, err)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	raw := []byte(`{"summary":"did it","learnings":["one","two"],"done":true,"n":12345678901234567,"nested":{"b":1.5,"a":[1,2,3]}}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := schema.Canonical(raw); err != nil {
			b.Fatal(err)
		}
	}
}
