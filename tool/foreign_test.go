package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/tool"
)

func TestForeign(t *testing.T) {
	pass := func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }
	tests := []struct{ schema, in, want string }{
		{`{"type":"object"}`, `{"b":1.0,"a":[1e2]}`, `{"a":[100],"b":1}`},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `{"a":"x"}`, `{"a":"x"}`},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `{"a":1}`, "a has to be string or null, not integer"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer","exclusiveMinimum":0}}}`, `{"a":0}`, "a has to be more than 0"},
		{`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":{"a":1}}}`, "a.a.a has to be object"},
		{`{"type":"object","properties":{"a":{"$ref":"#/definitions/elsewhere"}}}`, `{"a":1}`, `{"a":1}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{"a":1}`, `{"a":1}`},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"const":7}]}}}`, `{"a":7.0}`, `{"a":7}`},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"const":7}]}}}`, `{"a":8}`, "a fits none of its forms"},
		{`{"type":"object","properties":{"a":{"oneOf":[{"maxLength":2}],"allOf":[{"minLength":2}]}}}`, `{"a":"ä"}`, "a has 1 characters, at least 2 are needed"},
		{`{"type":"object","properties":{"a":{"maxItems":1,"items":{"pattern":"^x"}}}}`, `{"a":["x","y"]}`, "a has 2 items, at most 1 are taken; a[1] has to match ^x"},
		{`{"type":"object","properties":{"a":{"pattern":"(?<=x)y"}}}`, `{"a":"z"}`, `{"a":"z"}`},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"a":1}`, "a has to be string"},
		{`{"type":"object","properties":{"a":false},"additionalProperties":true}`, `{"a":1,"b":1}`, "a is not taken here"},
		// Schemas that a server could send to do harm.
		{`{"type":"object","allOf":[{"$ref":"#"}]}`, `{"a":1}`, `{"a":1}`},
		{`{"type":"object","anyOf":[{"$ref":"#"},{"$ref":"#"}],"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{"a":1}`, `{"a":1}`},
		{`{"type":"object","allOf":[null],"anyOf":[null],"properties":{"a":null},"items":null,"$defs":{"a":null},"enum":null}`, `{"a":1}`, `{"a":1}`},
		{`{"type":"object","additionalProperties":false}`, `{"` + strings.Repeat(`a":1,"b`, 1) + `":1}`, `"a" is no field; "b" is no field`},
	}
	for _, tt := range tests {
		one, err := tool.Foreign("out", "Passes.", json.RawMessage(tt.schema), pass)
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		got, err := one.Call(t.Context(), json.RawMessage(tt.in))
		if text := string(got); text != tt.want && (err == nil || !errors.Is(err, tool.BadInput) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s: got %s, %v, want %s", tt.schema, tt.in, text, err, tt.want)
		}
	}

	one, err := tool.Foreign("out", "Panics.", json.RawMessage(`{"type":"object"}`), func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("x") }, tool.Idempotent(), tool.Timeout(time.Second))
	if err != nil || !one.Idempotent || one.Timeout != time.Second {
		t.Fatalf("%+v, %v", one, err)
	}
	if _, err := one.Call(t.Context(), nil); !errors.Is(err, tool.Panicked) {
		t.Errorf("a panic: %v", err)
	}
	for name, make := range map[string]func() (cairn.Tool, error){
		"name": func() (cairn.Tool, error) {
			return tool.Foreign("a-b", "x", json.RawMessage(`{"type":"object"}`), pass)
		},
		"no object": func() (cairn.Tool, error) { return tool.Foreign("a", "x", json.RawMessage(`{}`), pass) },
		"no JSON":   func() (cairn.Tool, error) { return tool.Foreign("a", "x", json.RawMessage(`{`), pass) },
		"no schema": func() (cairn.Tool, error) { return tool.Foreign("a", "x", json.RawMessage(`{"type":7}`), pass) },
		"revert": func() (cairn.Tool, error) {
			return tool.Foreign("a", "x", json.RawMessage(`{"type":"object"}`), pass, tool.Revert(func(context.Context, int, int) error { return nil }))
		},
	} {
		if _, err := make(); !errors.Is(err, tool.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzForeignSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"anyOf":[true,false]}}}`, `{"a":{"b":1}}`)
	f.Add(`{"type":"object","required":["a"],"properties":{"a":{"enum":[1,"x",null],"minimum":1e400}}}`, `{"a":1e400}`)
	f.Add(`{"type":"object","allOf":[{"$ref":"#"},null],"oneOf":[{"$ref":"#"}]}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, schema, in string) {
		one, err := tool.Foreign("out", "Passes.", json.RawMessage(schema), func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
		if err != nil {
			if !errors.Is(err, tool.Invalid) {
				t.Fatal(err)
			}
			return
		}
		if _, err := one.Call(t.Context(), json.RawMessage(in)); err != nil && !errors.Is(err, tool.BadInput) {
			t.Fatal(err)
		}
	})
}
